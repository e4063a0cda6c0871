"""TensorBoard event files: one for each trial of a group in training."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.hparams import api, api_pb2
from tensorboard.plugins.hparams.summary import session_end_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import TENSORBOARD
from components.train import telemetry
from components.train.curves import final_losses
from models.nmt.sizes import get_shape

if TYPE_CHECKING:
    from components.train.trainer import GroupTrainer

_STATUS = {"done": api_pb2.STATUS_SUCCESS, "failed": api_pb2.STATUS_FAILURE}


class TrialEvents:
    """The event file of one trial.

    `tf.summary` cannot write the start of a session: an event that makes TensorBoard
    drop what a killed process had logged after its last checkpoint.

    Args:
      directory: Its TensorBoard folder.
      step: The step that training starts from; 0 removes all earlier events.
    """

    def __init__(self, directory: Path, step: int = 0):
        if not step:
            for old in directory.glob("events.out.tfevents.*"):
                old.unlink()
        self._writer = EventFileWriter(str(directory))
        if step:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            # Events at the step itself were written before its checkpoint.
            self._add(event_pb2.Event(step=step + 1, session_log=start))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes scalars at a step."""
        self._summary(step, *(scalar_pb(name, value) for name, value in values.items()))

    def start(
        self, trial: str, values: Mapping[str, float | str], metrics: Sequence[str]
    ) -> None:
        """Makes the trial a row of the HParams table.

        Args:
          trial: Its name.
          values: Its hyperparameters: size, N, weights, seed, ...
          metrics: Scalars to show beside them.
        """
        columns = [api.HParam(name) for name in values]
        shown = [api.Metric(tag) for tag in metrics]
        self._summary(0, api.hparams_config_pb(columns, shown))
        self._summary(0, api.hparams_pb(dict(values), trial_id=trial))

    def end(self, status: str) -> None:
        """Notes how the trial ended, ``done`` or ``failed``, and closes the file."""
        # It makes TensorFlow's class of the same message.
        ended = session_end_pb(_STATUS[status]).SerializeToString()
        self._summary(0, summary_pb2.Summary.FromString(ended))
        self._writer.close()

    def _summary(self, step: int, *summaries: summary_pb2.Summary) -> None:
        values = [value for summary in summaries for value in summary.value]
        joined = summary_pb2.Summary(value=values)
        self._add(event_pb2.Event(step=step, summary=joined))

    def _add(self, event: event_pb2.Event) -> None:
        event.wall_time = time.time()
        self._writer.add_event(event)
        self._writer.flush()  # seldom enough; whoever watches sees it at once


class GroupEvents:
    """What is logged of a group in training, to the event files of its trials.

    Args:
      trainer: The group's trainer; what is logged is read from it.
    """

    def __init__(self, trainer: GroupTrainer):
        self.trainer = trainer
        self.files = [
            TrialEvents(trainer.output / trial.id / TENSORBOARD, trainer.step)
            for trial in trainer.group.trials
        ]
        finals = [f"final/{one.task}/{one.name}" for one in trainer.data.test_sets]
        for trial, file in zip(trainer.group.trials, self.files, strict=True):
            file.start(trial.id, self._hyperparameters(trial), finals)

    def evaluated(
        self, rows: Mapping[int, Sequence[MetricsRow]], training: np.ndarray
    ) -> None:
        """Logs one evaluation.

        Args:
          rows: Place of a trial in the group -> what was measured, the whole of a
            test set before its parts.
          training: Mean training loss since the last execution, ``[trials]``.
        """
        trainer = self.trainer
        gradient, weights = trainer.stack.norms()
        common = {"learning_rate": trainer.stack.learning_rate, **self._speed()}
        for index, measured in rows.items():
            shown: dict[str, float] = {}
            for row in measured:
                name = f"loss/{row.task}/{row.test_set}"
                if row.loss is not None:
                    tag = f"{name}/{row.origin}" if name in shown else name
                    shown[tag] = row.loss
            shown |= {
                "loss/training": float(training[index]),
                "norm/gradient": float(gradient[index]),
                "norm/parameters": float(weights[index]),
                **self._data(index),
                **common,
            }
            self.files[index].scalars(trainer.step, shown)

    def end(self) -> None:
        """Logs the final losses, and how the trials ended."""
        trainer = self.trainer
        for index, file in enumerate(self.files):
            failed = index in trainer.failures
            if not failed:
                finals = final_losses(trainer.curves[index], trainer.steps)
                file.scalars(trainer.step, finals)
            file.end("failed" if failed else "done")

    def _data(self, index: int) -> dict[str, float]:
        """Realised shares and epochs of one trial."""
        trainer = self.trainer
        examples, tokens = trainer.seen.shares(index)
        shown: dict[str, float] = {}
        for label, values in (
            ("share/examples", examples),
            ("share/target_tokens", tokens),
            ("epochs", trainer.seen.epochs(index, trainer.data.rows.count)),
        ):
            shown |= {f"{label}/{task}": value for task, value in values.items()}
        return shown

    def _hyperparameters(self, trial: Trial) -> dict[str, float | str]:
        trainer, config = self.trainer, self.trainer.config
        count = trainer.stack.parameters
        return {
            "size": trial.size,
            "n": count.n,
            "n_enc": count.n_enc,
            "n_dec": count.n_dec,
            **{f"weight/{task}": weight for task, weight in trial.mixture},
            "seed": trial.seed,
            "steps": trainer.steps,
            "batch_tokens": config.batch_tokens,
            "learning_rate": config.learning_rate,
        }

    def _speed(self) -> dict[str, float]:
        """Of all trials of the group together, which share the device."""
        trainer = self.trainer
        seconds = trainer.stopwatch.call_seconds()
        if not seconds:
            return {}
        executed = trainer.config.steps_per_execution
        tokens = trainer.seen.counts[..., 1].sum() * executed / trainer.step
        flops = telemetry.step_flops(
            get_shape(trainer.group.size),
            trainer.data.vocabulary_size,
            trainer.rows,
            trainer.data.rows.lengths,
        )
        flops *= len(trainer.group.trials) * executed
        peak = telemetry.matmul_peak(trainer.config.precision)
        return {
            "speed/target_tokens_per_second": tokens / seconds,
            "speed/flops_per_second": flops / seconds,
            "speed/utilisation": flops / seconds / peak,
        }
