"""Worker processes: each trains one group after the other.

TensorFlow starts once a worker, not once a trial. A worker ends when its parent
does, however the parent ended.
"""

from __future__ import annotations

import dataclasses
import logging
import multiprocessing
import multiprocessing.connection
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from components.tensorflow_start import start_tensorflow
from components.train.config import Config
from components.train.group import Group
from models.errors import UserError

log = logging.getLogger(__name__)

ATTEMPTS = 2


@dataclasses.dataclass(frozen=True)
class Assignment:
    """What a worker needs to know besides its groups."""

    config: Config
    tasks: tuple[str, ...]
    tokens: Path
    output: Path
    progress: Path
    threads: int


@dataclasses.dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    connection: multiprocessing.connection.Connection
    group: Group | None = None


def train_all(
    assignment: Assignment,
    groups: Sequence[Group],
    jobs: int,
    *,
    on_step: Callable[[Group, int, int], None],
    on_done: Callable[[Group], None],
) -> None:
    """Trains all groups, ``jobs`` at a time, in the given order.

    A group whose worker dies is tried once more, by a new worker.

    Args:
      assignment: What the workers share.
      groups: The most costly one first, so that the last ones to end are short.
      jobs: Most worker processes.
      on_step: Called with a group, its steps done and its steps.
      on_done: Called when the folders of a group's trials are written.

    Raises:
      UserError: What a worker raised as such.
      RuntimeError: A group's worker died twice.
    """
    waiting = list(groups)
    attempts = {group.id: 0 for group in groups}
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_start(assignment))
                _hand_over(workers[-1], waiting.pop(0), attempts)
            ready = multiprocessing.connection.wait([w.connection for w in workers])
            for worker in [w for w in workers if w.connection in ready]:
                outcome = _listen(worker, on_step)
                if outcome == "died":
                    workers.remove(worker)
                    _retry_or_raise(worker, attempts, waiting)
                if outcome != "done":
                    continue
                on_done(worker.group)
                if waiting:
                    _hand_over(worker, waiting.pop(0), attempts)
                else:
                    worker.connection.close()
                    worker.process.join()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()


def _start(assignment: Assignment) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_work, args=(theirs, assignment, os.getpid()), daemon=True
    )
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _hand_over(worker: _Worker, group: Group, attempts: dict[str, int]) -> None:
    worker.group = group
    attempts[group.id] += 1
    worker.connection.send(group)


def _listen(
    worker: _Worker, on_step: Callable[[Group, int, int], None]
) -> Literal["step", "done", "died"]:
    """Handles one message of a worker, or its end."""
    try:
        kind, *content = worker.connection.recv()
    except EOFError:
        return "died"
    if kind == "user_error":
        raise UserError(content[0])
    if kind == "step":
        on_step(worker.group, *content)
    return kind


def _retry_or_raise(
    worker: _Worker, attempts: dict[str, int], waiting: list[Group]
) -> None:
    worker.process.join()
    group = worker.group
    if attempts[group.id] >= ATTEMPTS:
        raise RuntimeError(
            f"train {group.size}: the worker training "
            f"{', '.join(trial.id for trial in group.trials)} ended with status "
            f"{worker.process.exitcode}, twice"
        )
    log.warning(
        "train %s: a worker ended with status %s; its %d trials go on in a new one",
        group.size,
        worker.process.exitcode,
        len(group.trials),
    )
    waiting.insert(0, group)


def _work(
    connection: multiprocessing.connection.Connection,
    assignment: Assignment,
    parent: int,
) -> None:
    """Body of a worker process."""
    start_tensorflow()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(assignment.threads)
    tf.config.threading.set_inter_op_parallelism_threads(assignment.threads)
    from components.train.trainer import GroupTrainer, SweepData

    def report(done: int, steps: int) -> None:
        if os.getppid() != parent:
            sys.exit("train: the parent process is gone")
        connection.send(("step", done, steps))

    data = None
    while True:
        try:
            group = connection.recv()
        except EOFError:
            return
        try:
            data = data or SweepData.load(assignment.tokens, assignment.tasks)
            GroupTrainer(
                assignment.config,
                group,
                data,
                output=assignment.output,
                progress=assignment.progress / group.id,
                report=report,
            ).run()
        except UserError as error:
            connection.send(("user_error", str(error)))
            return
        connection.send(("done",))
