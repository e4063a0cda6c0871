"""Trains one group of trials, from wherever it was interrupted to the end."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from components.artifacts import checkpoints
from components.artifacts.checkpoints import ModelRecord
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial_folder import WEIGHTS, TrialRecord, weights_at
from components.engines import cluster
from components.engines.preemption import Preempted
from components.train import mixture, stopwatch
from components.train.config import KEPT_CHECKPOINTS, Config
from components.train.curves import best_losses, curve_rows, evaluation_steps
from components.train.event_files import GroupEvents
from components.train.group import Group
from components.train.group_state import (
    GroupState,
    Seen,
    share_of_phases,
    write_results,
)
from components.train.model_stack import StackCache
from components.train.stopwatch import Stopwatch
from components.train.sweep_data import SweepData, batch_rows

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
# A checkpoint that takes a second is written every 50 seconds at most: 2 % of the
# time, whatever the size of the model.
_CHECKPOINT_SHARE = 0.02


class GroupTrainer:
    """Trains the trials of one group side by side.

    Args:
      config: How.
      group: Which trials.
      data: What they see.
      output: The folder of all trials.
      progress: Folder for checkpoints of the group while it is in progress.
      report: Called with (steps done, steps) after each call of the step.
      stop: Asked after each call whether to save and leave.
      since: ``time.monotonic()`` at which the work for this group began, when that
        was before this object was made.
      stacks: Those of this process, by default new ones.

    Raises:
      UserError: A checkpoint in ``progress`` is of something else.
    """

    def __init__(
        self,
        config: Config,
        group: Group,
        data: SweepData,
        *,
        output: Path,
        progress: Path,
        report: Progress,
        stop: Callable[[], bool] = lambda: False,
        since: float | None = None,
        stacks: StackCache | None = None,
    ):
        since = time.monotonic() if since is None else since
        self.config, self.group, self.data = config, group, data
        self.output, self.progress = output, progress
        self.report, self.stop = report, stop
        self.writes = cluster.member(config.strategy).is_chief
        self.steps = config.steps_of(group.size)
        seeds = [trial.seed for trial in group.trials]
        stacks = stacks or StackCache(config, data.vocabulary_size)
        self.stack = stacks.get(group.size, seeds)
        self.rows = batch_rows(
            config, data.rows, self.stack.strategy.num_replicas_in_sync
        )
        self.step = self.saved_step = 0
        self.seen = Seen(
            data.tasks,
            np.zeros((len(seeds), len(data.tasks)), np.int64),
            np.zeros((len(seeds), len(data.tasks), 2), np.int64),
        )
        self.curves: list[list[MetricsRow]] = [[] for _ in seeds]
        self.failures: dict[int, str] = {}
        self.stopwatch = Stopwatch()
        self._restore()
        self.stopwatch.add(stopwatch.START_UP, time.monotonic() - since)

    def run(self) -> None:
        """Trains to the last step and writes every trial's folder.

        Raises:
          Preempted: It was asked to stop, and has saved.
        """
        milestones = evaluation_steps(self.config, self.steps)
        events = GroupEvents(self) if self.writes else None
        batches = iter(self._batches())
        saved, cost = time.monotonic(), 0.0
        while self.step < self.steps and len(self.failures) < len(self.group.trials):
            losses = self._train(batches)
            if self.step in milestones and events:
                with self.stopwatch.measure(stopwatch.EVALUATION):
                    self._evaluate(losses, events)
            self.report(self.step, self.steps)
            self._stop_if_asked()
            if self._is_due(time.monotonic() - saved, cost):
                cost = self._checkpoint()
                saved = time.monotonic()
        self._checkpoint()
        if events:
            events.end()
            for index, trial in enumerate(self.group.trials):
                self._write_trial(index, self.output / trial.id)

    def _batches(self) -> tf.data.Dataset:
        return mixture.batches(
            self.data.rows,
            self.data.row_probabilities(self.config, self.group.trials),
            np.array([trial.seed for trial in self.group.trials]),
            batch_rows=self.rows,
            steps_per_execution=self.config.steps_per_execution,
            start_step=self.step,
            stop_step=self.steps,
            drawn=self.seen.rows,
            annealing=self._annealing(),
        )

    def _annealing(self) -> mixture.Annealing | None:
        anneal = self.config.anneal
        if anneal is None:
            return None
        return mixture.Annealing(anneal.keep, max(1, round(anneal.by * self.steps)))

    def _train(self, batches: Iterator[Any]) -> np.ndarray:
        """Some steps; returns each trial's mean loss, ``[trials]``."""
        with self.stopwatch.measure(stopwatch.TRAINING):
            fields, (drawn, seen) = next(batches)
            losses = self.stack.train(fields)
        first, self.step = self.step, self.step + self.config.steps_per_execution
        self.seen = Seen(
            self.data.tasks, drawn.numpy(), self.seen.counts + seen.numpy()
        )
        self._note_failures(losses, first)
        return losses

    def _note_failures(self, losses: np.ndarray, first: int) -> None:
        for index in np.flatnonzero(~np.isfinite(losses)).tolist():
            if index in self.failures:
                continue
            good = self._keep_last_good(index) if self.writes else 0
            self.failures[index] = (
                f"loss became {losses[index]} in steps {first}-{self.step}; the last "
                f"good checkpoint is of step {good}" + ("" if good else ", the start")
            )
            log.warning("%s: %s", self.group.trials[index].id, self.failures[index])

    def _keep_last_good(self, index: int) -> int:
        """Keeps the weights of a trial's last good checkpoint; returns its step.

        The newest one need not be good: what made the loss infinite may have been
        the last update before it.
        """
        for arrays, record in checkpoints.newest_first(self.progress):
            weights = {
                name.removeprefix("model/"): array[index]
                for name, array in arrays.items()
                if name.startswith("model/")
            }
            if all(np.isfinite(array).all() for array in weights.values()):
                folder = self.output / self.group.trials[index].id
                model = ModelRecord.from_record(record)
                checkpoints.save_weights(folder / WEIGHTS, weights, model)
                return record["step"]
        return 0

    def _evaluate(self, training: np.ndarray, events: GroupEvents) -> None:
        measured = self.stack.evaluate(self.data.test_sets)
        rows = {
            index: curve_rows(
                trial,
                index,
                self.stack.parameters,
                self.step,
                self.data.test_sets,
                measured,
                self.seen.amounts(index),
            )
            for index, trial in enumerate(self.group.trials)
            if index not in self.failures
        }
        for index, found in rows.items():
            self.curves[index] += found
            if self.config.keep_weights:
                self._keep_weights(index)
        events.evaluated(rows, training)

    def _keep_weights(self, index: int) -> None:
        """Keeps the weights that were just evaluated."""
        folder = self.output / self.group.trials[index].id
        model = dataclasses.replace(self._model, step=self.step)
        weights = self.stack.weights(index)
        checkpoints.save_weights(folder / weights_at(self.step), weights, model)

    def _stop_if_asked(self) -> None:
        if self.stack.agree(self.stop()):
            self._checkpoint()
            raise Preempted(f"{self.group.id}: saved at step {self.step}")

    def _is_due(self, since: float, cost: float) -> bool:
        least = self.config.checkpoint_seconds
        return since >= (max(least, cost / _CHECKPOINT_SHARE) if least else 0.0)

    def _checkpoint(self) -> float:
        """Saves everything; returns the seconds it took."""
        if not self.writes or self.saved_step == self.step:
            return 0.0
        started = time.monotonic()
        with self.stopwatch.measure(stopwatch.CHECKPOINTS):
            arrays = {
                **self.stack.state(),
                "drawn": self.seen.rows,
                "seen": self.seen.counts,
            }
            checkpoints.save_step(
                self.progress,
                self.step,
                arrays,
                self._state().to_record(),
                keep=KEPT_CHECKPOINTS,
            )
        self.saved_step = self.step
        return time.monotonic() - started

    @property
    def _model(self) -> ModelRecord:
        data = self.data
        return ModelRecord(self.group.size, data.vocabulary_size, data.vocabulary)

    def _state(self) -> GroupState:
        return GroupState(
            model=self._model,
            trials=tuple(trial.id for trial in self.group.trials),
            step=self.step,
            phases=self.stopwatch.seconds(),
            failures=self.failures,
            curves=self.curves,
        )

    def _restore(self) -> None:
        found = checkpoints.load_newest(self.progress)
        if found is None:
            return
        arrays, record = found
        checkpoints.check(self.progress, record, self._state().identity())
        drawn, counts = arrays.pop("drawn"), arrays.pop("seen")
        checkpoints.check_arrays(self.progress, arrays, self.stack.state_shapes())
        self.stack.restore(arrays)
        self.seen = Seen(self.data.tasks, drawn, counts)
        saved = GroupState.from_record(record)
        self.step = self.saved_step = saved.step
        self.stopwatch = Stopwatch(saved.phases)
        self.curves = [list(curve) for curve in saved.curves]
        self.failures = dict(saved.failures)
        log.info("%s: resumed at step %d", self.group.id, self.step)

    def _write_trial(self, index: int, folder: Path) -> None:
        failure = self.failures.get(index)
        if failure is None:
            weights = self.stack.weights(index)
            checkpoints.save_weights(folder / WEIGHTS, weights, self._model)
        phases = share_of_phases(self.stopwatch.seconds(), len(self.group.trials))
        examples, tokens = self.seen.shares(index)
        record = TrialRecord(
            status="failed" if failure else "done",
            reason=failure,
            steps=self.steps,
            step=self.step,
            seconds=round(sum(phases.values()), 3),
            seconds_by_phase=phases,
            epochs=self.seen.epochs(index, self.data.rows.count),
            realised_example_share=examples,
            realised_target_token_share=tokens,
            best=best_losses(self.curves[index]),
        )
        write_results(folder, self.curves[index], record)
