"""Trains one group of trials, from wherever it was interrupted to the end."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from components import checkpoints
from components.cross_entropy import TestSet, load_test_sets
from components.manifest import write_atomically
from components.metrics_table import Row
from components.metrics_table import write as write_table
from components.tokenize.reader import load_index, load_split
from components.train import mixture
from components.train.config import Config
from components.train.curves import Board, curve_rows
from components.train.group import Group
from components.train.layout import CURVE, RECORD, TENSORBOARD, WEIGHTS
from components.train.milestones import evaluation_steps
from components.train.program import Program
from components.trial import Trial
from models.errors import UserError
from models.nmt.sizes import get_shape

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class SweepData:
    """What all trials of a sweep share, read once a process.

    Attributes:
      vocabulary_size: Pieces in the vocabulary.
      tasks: Tasks in the order of the mixture weights.
      rows: Training rows of all tasks.
      target_tokens: Target tokens in an average row of each task, ``[tasks]``.
      test_sets: Every test set of every task.
    """

    vocabulary_size: int
    tasks: tuple[str, ...]
    rows: mixture.Rows
    target_tokens: np.ndarray
    test_sets: tuple[TestSet, ...]

    @classmethod
    def load(cls, tokens: Path, tasks: Sequence[str]) -> SweepData:
        """Reads an artifact of ``tokenize``."""
        index = load_index(tokens)
        train = [load_split(tokens, task, "train") for task in tasks]
        return cls(
            vocabulary_size=index["vocabulary_size"],
            tasks=tuple(tasks),
            rows=mixture.Rows.join(train),
            target_tokens=np.array(
                [(split["target_segments"] > 0).sum(axis=1).mean() for split in train]
            ),
            test_sets=load_test_sets(tokens, tasks),
        )


class GroupTrainer:
    """Trains the trials of one group side by side.

    Args:
      config: How.
      group: Which trials.
      data: What they see.
      output: The folder of all trials.
      progress: Folder for checkpoints of the group while it is in progress.
      report: Called with (steps done, steps) after each call of the program.
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
    ):
        self.config, self.group, self.data = config, group, data
        self.output, self.progress, self.report = output, progress, report
        self.steps = config.steps_of(group.size)
        seeds = [trial.seed for trial in group.trials]
        self.program = Program(
            config, get_shape(group.size), data.vocabulary_size, seeds
        )
        self.parameters = self.program.parameters
        self.step = 0
        self.seconds = 0.0
        self.drawn = np.zeros((len(seeds), len(data.tasks)), np.int64)
        self.curves: list[list[Row]] = [[] for _ in seeds]
        self.failures: dict[int, str] = {}
        self._restore()

    def run(self) -> None:
        """Trains to the last step and writes every trial's folder."""
        milestones = evaluation_steps(self.config, self.steps)
        boards = [
            Board(self.output / trial.id / TENSORBOARD) for trial in self.group.trials
        ]
        saved = started = time.monotonic()
        before = self.seconds
        for fields, drawn in self._batches():
            losses = self.program.train(fields)
            first, self.step = self.step, self.step + int(fields[0].shape[0])
            self.drawn = drawn.numpy()
            self._note_failures(losses, first)
            if self.step in milestones:
                self._evaluate(losses, boards)
            self.report(self.step, self.steps)
            now = time.monotonic()
            self.seconds = before + now - started
            if now - saved >= self.config.checkpoint_seconds:
                self._checkpoint()
                saved = now
        self._checkpoint()
        for board in boards:
            board.close()
        for index, trial in enumerate(self.group.trials):
            self._write_trial(index, trial)

    def _batches(self):
        trials = self.group.trials
        weights = np.array(
            [[trial.weight(task) for task in self.data.tasks] for trial in trials]
        )
        return mixture.batches(
            self.data.rows,
            weights / weights.sum(axis=1, keepdims=True),
            np.array([trial.seed for trial in trials]),
            batch_rows=batch_rows(self.config, self.data.rows),
            steps_per_call=self.config.steps_per_call,
            start_step=self.step,
            stop_step=self.steps,
            drawn=self.drawn,
        )

    def _note_failures(self, losses: np.ndarray, first: int) -> None:
        for index in np.flatnonzero(~np.isfinite(losses)):
            if index not in self.failures:
                reason = f"loss became {losses[index]} in steps {first}-{self.step}"
                self.failures[int(index)] = reason
                log.warning("%s: %s", self.group.trials[index].id, reason)

    def _evaluate(self, training: np.ndarray, boards: Sequence[Board]) -> None:
        measured = self.program.evaluate(self.data.test_sets)
        rate = float(self.program.optimizer.learning_rate)
        for index, trial in enumerate(self.group.trials):
            if index in self.failures:
                continue
            rows = curve_rows(
                trial,
                index,
                self.parameters,
                self.step,
                self.data.test_sets,
                measured,
                self._seen(index),
            )
            self.curves[index] += rows
            scalars = {}
            for row in rows:  # the whole of a test set, then its halves by origin
                name = f"loss/{row.task}/{row.test_set}"
                scalars[f"{name}/{row.origin}" if name in scalars else name] = row.loss
            scalars["loss/training"] = float(training[index])
            scalars["learning_rate"] = rate
            boards[index].write(self.step, scalars)

    def _seen(self, index: int) -> dict[str, tuple[int, int]]:
        """Task -> training examples and target tokens seen by a trial."""
        rows = self.drawn[index]
        examples = np.rint(rows * self.data.rows.examples).astype(int)
        tokens = np.rint(rows * self.data.target_tokens).astype(int)
        return {
            task: (int(examples[i]), int(tokens[i]))
            for i, task in enumerate(self.data.tasks)
        }

    def _checkpoint(self) -> None:
        record = {
            "step": self.step,
            "seconds": self.seconds,
            "failures": {str(index): text for index, text in self.failures.items()},
            "curves": [
                [dataclasses.asdict(row) for row in curve] for curve in self.curves
            ],
        }
        arrays = {**self.program.state(), "drawn": self.drawn}
        checkpoints.save_step(self.progress, self.step, arrays, record)

    def _restore(self) -> None:
        found = checkpoints.load_newest(self.progress)
        if found is None:
            return
        arrays, record = found
        self.drawn = arrays.pop("drawn")
        self.program.restore(arrays)
        self.step, self.seconds = record["step"], record["seconds"]
        self.curves = [[Row(**row) for row in curve] for curve in record["curves"]]
        self.failures = {int(i): text for i, text in record["failures"].items()}
        log.info("%s: resumed at step %d", self.group.id, self.step)

    def _write_trial(self, index: int, trial: Trial) -> None:
        folder = self.output / trial.id
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder / CURVE, self.curves[index])
        model = {"size": trial.size, "vocabulary_size": self.data.vocabulary_size}
        checkpoints.save(folder / WEIGHTS, self.program.weights(index), model)
        failure = self.failures.get(index)
        epochs = self.drawn[index] / self.data.rows.count
        record = {
            "status": "failed" if failure else "done",
            "reason": failure,
            "steps": self.steps,
            # The trials of a group share its time.
            "seconds": round(self.seconds / len(self.group.trials), 3),
            "epochs": {
                task: round(float(epochs[i]), 4)
                for i, task in enumerate(self.data.tasks)
            },
            "realised_example_share": self._realised(index),
        }
        write_atomically(folder / RECORD, json.dumps(record, indent=1) + "\n")

    def _realised(self, index: int) -> dict[str, float]:
        seen = {task: count for task, (count, _) in self._seen(index).items()}
        total = max(sum(seen.values()), 1)
        return {task: round(count / total, 5) for task, count in seen.items()}


def batch_rows(config: Config, rows: mixture.Rows) -> int:
    """Rows in the batch of one trial. Raises ``UserError`` when it holds none."""
    length = rows.fields["target_ids"].shape[1]
    count = math.floor(config.batch_tokens / length)
    if count < 1:
        raise UserError(
            f"train.batch_tokens: {config.batch_tokens} is less than one row of "
            f"{length} target tokens; try {16 * length}"
        )
    return count
