"""What TensorBoard shows of a group in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import Trial
from components.train import results, telemetry
from components.train.board import Board
from components.train.layout import TENSORBOARD
from models.nmt.sizes import get_shape

if TYPE_CHECKING:
    from components.train.trainer import GroupTrainer


class Watch:
    """The boards of all trials of a group.

    Args:
      trainer: The group's trainer; what is shown is read from it.
    """

    def __init__(self, trainer: GroupTrainer):
        self.trainer = trainer
        data = trainer.data
        self.boards = [
            Board(trainer.output / trial.id / TENSORBOARD, trainer.step)
            for trial in trainer.group.trials
        ]
        finals = [f"final/{one.task}/{one.name}" for one in data.test_sets]
        for trial, board in zip(trainer.group.trials, self.boards, strict=True):
            board.start(trial.id, self._told(trial), finals)

    def evaluated(
        self, rows: Mapping[int, Sequence[MetricsRow]], training: np.ndarray
    ) -> None:
        """Shows one evaluation.

        Args:
          rows: Place of a trial in the group -> what was measured, the whole of a
            test set before its parts.
          training: Mean training loss of the last call, ``[trials]``.
        """
        trainer = self.trainer
        gradient, weights = trainer.program.norms()
        common = {"learning_rate": trainer.program.learning_rate, **self._speed()}
        for index, found in rows.items():
            shown: dict[str, float] = {}
            for row in found:
                name = f"loss/{row.task}/{row.test_set}"
                shown[f"{name}/{row.origin}" if name in shown else name] = row.loss
            shown |= {
                "loss/training": float(training[index]),
                "norm/gradient": float(gradient[index]),
                "norm/parameters": float(weights[index]),
                **self._data(index),
                **common,
            }
            self.boards[index].scalars(trainer.step, shown)

    def _data(self, index: int) -> dict[str, float]:
        """Realised shares and epochs of one trial."""
        trainer = self.trainer
        examples, tokens = trainer.seen.shares(index)
        shown = {}
        for label, values in (
            ("share/examples", examples),
            ("share/target_tokens", tokens),
            ("epochs", trainer.seen.epochs(index, trainer.data.rows.count)),
        ):
            shown |= {f"{label}/{task}": value for task, value in values.items()}
        return shown

    def end(self) -> None:
        """Shows how the trials ended."""
        trainer = self.trainer
        for index, board in enumerate(self.boards):
            finals = results.final_losses(trainer.curves[index], trainer.steps)
            failed = index in trainer.failures
            if not failed:
                board.scalars(trainer.step, finals)
            board.end("failed" if failed else "done")

    def _told(self, trial: Trial) -> dict[str, float | str]:
        trainer, config = self.trainer, self.trainer.config
        count = trainer.program.parameters
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
        calls = trainer.step / trainer.config.steps_per_call
        tokens = trainer.seen.counts[..., 1].sum() / calls
        flops = (
            telemetry.step_flops(
                get_shape(trainer.group.size),
                trainer.data.vocabulary_size,
                trainer.rows,
                trainer.data.rows.lengths,
            )
            * len(trainer.group.trials)
            * trainer.config.steps_per_call
        )
        peak = telemetry.matmul_peak(trainer.config.precision)
        return {
            "speed/target_tokens_per_second": tokens / seconds,
            "speed/flops_per_second": flops / seconds,
            "speed/utilisation": flops / seconds / peak,
        }
