"""The worker processes of a sweep, seen from their parent.

Each trains one group after the other: TensorFlow starts once a worker, not once a
trial. A worker that dies is replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Literal

from components.engines import preemption
from components.engines.preemption import Preempted
from components.train.group import Group
from components.train.worker import Assignment, work
from models.errors import UserError

log = logging.getLogger(__name__)

ATTEMPTS = 2
# A worker that was told to stop saves at the end of its call; then it is killed.
GRACE_SECONDS = 120.0


@dataclasses.dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    connection: multiprocessing.connection.Connection
    group: Group
    error: str | None = None


@dataclasses.dataclass(frozen=True)
class Events:
    """Whom to tell what.

    Attributes:
      on_step: Called with a group, its steps done and its steps.
      on_done: Called when the folders of a group's trials are written.
      on_crash: Called with a group whose worker died `ATTEMPTS` times, and how.
    """

    on_step: Callable[[Group, int, int], None]
    on_done: Callable[[Group], None]
    on_crash: Callable[[Group, str], None]


def train_all(
    assignment: Assignment, groups: Sequence[Group], jobs: int, events: Events
) -> None:
    """Trains all groups, ``jobs`` at a time, in the given order.

    A group whose worker dies is tried once more, by a new worker.

    Args:
      assignment: What the workers share.
      groups: The most costly one first, so that the last ones to end are short.
      jobs: Most worker processes.
      events: Whom to tell what.

    Raises:
      UserError: What a worker raised as such.
      Preempted: SIGTERM came; the workers have saved.
    """
    with preemption.noticed() as stop:
        pool = _Pool(assignment, groups, events)
        try:
            while pool.has_work():
                pool.fill(jobs)
                ready = multiprocessing.connection.wait(
                    [stop.fileno(), *pool.connections()]
                )
                if stop.requested:
                    raise Preempted(
                        "stopped by SIGTERM; training is saved, and the same command "
                        "goes on from there"
                    )
                pool.listen(ready)
        finally:
            pool.dismiss()


class _Pool:
    """The workers, and the groups that wait for one."""

    def __init__(self, assignment: Assignment, groups: Sequence[Group], events: Events):
        self.assignment, self.events = assignment, events
        self.waiting = list(groups)
        self.attempts = {group.id: 0 for group in groups}
        self.workers: list[_Worker] = []

    def has_work(self) -> bool:
        """Whether any group is not finished."""
        return bool(self.waiting or self.workers)

    def connections(self) -> list[multiprocessing.connection.Connection]:
        """What the workers report through."""
        return [worker.connection for worker in self.workers]

    def fill(self, jobs: int) -> None:
        """Starts workers for waiting groups."""
        while self.waiting and len(self.workers) < jobs:
            worker = _start(self.assignment, self.waiting[0])
            self.workers.append(worker)
            self._hand_over(worker)

    def listen(self, ready: Sequence[object]) -> None:
        """Handles one message of each worker that has one."""
        for worker in [w for w in self.workers if w.connection in ready]:
            outcome = self._outcome(worker)
            if outcome == "done":
                self.events.on_done(worker.group)
                if self.waiting:
                    self._hand_over(worker)
                else:
                    self._remove(worker)
            elif outcome == "died":
                self._remove(worker)
                self._try_again(worker)
            elif outcome == "preempted":
                self._remove(worker)
                self._replace_preempted(worker)

    def dismiss(self) -> None:
        """Ends all workers; what they have trained is saved."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join(GRACE_SECONDS)
            worker.process.kill()
            worker.process.join()

    def _hand_over(self, worker: _Worker) -> None:
        worker.group = self.waiting.pop(0)
        self.attempts[worker.group.id] += 1
        # One that has died already is found out when it is listened to.
        with contextlib.suppress(ConnectionError):
            worker.connection.send(worker.group)

    def _outcome(
        self, worker: _Worker
    ) -> Literal["step", "done", "died", "preempted", "error", "log"]:
        try:
            kind, *content = worker.connection.recv()
        except (EOFError, ConnectionError):
            return "died"
        if kind == "user_error":
            raise UserError(content[0])
        if kind == "error":
            worker.error = content[0]
        if kind == "log":
            name, level, text = content
            logging.getLogger(name).log(level, "%s", text)
        if kind == "step":
            self.events.on_step(worker.group, *content)
        return kind

    def _remove(self, worker: _Worker) -> None:
        worker.connection.close()
        worker.process.join()
        self.workers.remove(worker)

    def _replace_preempted(self, worker: _Worker) -> None:
        """Only this worker was told to stop: that is no fault of its group."""
        if self.assignment.config.strategy == "multi_worker":
            raise Preempted("train: another worker was stopped; the work is saved")
        self.attempts[worker.group.id] -= 1
        self.waiting.insert(0, worker.group)

    def _try_again(self, worker: _Worker) -> None:
        group = worker.group
        how = worker.error or f"ended with status {_status(worker.process.exitcode)}"
        if self.attempts[group.id] >= ATTEMPTS:
            self.events.on_crash(group, f"its worker process {how}, {ATTEMPTS} times")
            return
        log.warning(
            "train %s: a worker process %s; its %d trials go on in a new one",
            group.size,
            how,
            len(group.trials),
        )
        self.waiting.insert(0, group)


def _status(code: int | None) -> str:
    """``-9 (SIGKILL)``; signals are negative."""
    if code is None or code >= 0:
        return str(code)
    return f"{code} ({signal.Signals(-code).name})"


def _start(assignment: Assignment, group: Group) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=work,
        args=(theirs, assignment, os.getpid(), time.monotonic()),
        daemon=True,
    )
    process.start()
    theirs.close()
    return _Worker(process, ours, group)
