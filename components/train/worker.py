"""One worker process of a sweep: trains the groups that its parent hands it.

It ends when its parent does, however the parent ended; told to stop, it saves first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import logging
import multiprocessing.connection
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.engines import preemption
from components.engines.preemption import Preempted
from components.engines.tensorflow_start import start_tensorflow
from components.train.config import Config
from components.train.group import Group
from models.errors import UserError
from models.nmt.sizes import get_shape

if TYPE_CHECKING:
    from components.train.model_stack import StackCache
    from components.train.sweep_data import SweepData

# A full or forbidden disk is no fault of a trial: trying again would not help.
_STORAGE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
)

_LONGEST_REASON = 300


@dataclasses.dataclass(frozen=True)
class Assignment:
    """What a worker needs to know besides its groups.

    Attributes:
      config: How to train.
      tasks: In the order of the mixture weights.
      tokens: An artifact of ``tokenize``.
      output: One folder a trial goes here.
      progress: One folder a group in progress goes here.
      threads: Threads of a worker.
    """

    config: Config
    tasks: tuple[str, ...]
    tokens: Path
    output: Path
    progress: Path
    threads: int


def work(
    connection: multiprocessing.connection.Connection,
    assignment: Assignment,
    parent: int,
    since: float,
) -> None:
    """Body of a worker process.

    Args:
      connection: To the parent: groups come in, messages go out.
      assignment: What all workers share.
      parent: Process id of the parent.
      since: ``time.monotonic()`` when this process was started.
    """
    _work(connection, assignment, parent, since)
    # Everything is written. To take TensorFlow down in order takes a second more.
    connection.close()
    logging.shutdown()
    sys.stderr.flush()
    os._exit(0)


def _work(
    connection: multiprocessing.connection.Connection,
    assignment: Assignment,
    parent: int,
    since: float,
) -> None:
    """`work`, but for the end of the process."""
    # Ctrl-C reaches the whole process group; the parent then ends us with SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ours = logging.getLogger(__name__.partition(".")[0])
    ours.setLevel(logging.INFO)
    ours.addHandler(_ToParent(connection))
    start_tensorflow()
    from components.engines import strategy
    from components.train.model_stack import StackCache
    from components.train.sweep_data import SweepData

    config = assignment.config
    compiled = strategy.compiles_step(config.jit, config.strategy)
    widest = max(get_shape(size).d_model for size in config.sizes)
    strategy.use_threads(assignment.threads, widest=widest, compiled=compiled)
    data = stacks = None
    with preemption.noticed() as stop:
        while group := _next_group(connection, stop):
            try:
                data = data or SweepData.load(assignment.tokens, assignment.tasks)
                stacks = stacks or StackCache(config, data.vocabulary_size)
                report = _Report(connection, parent)
                asked = functools.partial(getattr, stop, "requested")
                _train(assignment, group, data, stacks, report, asked, since)
            except Preempted:
                return _tell(connection, "preempted")
            except UserError as error:
                return _tell(connection, "user_error", str(error))
            except BaseException as error:
                # Python shows the traceback; the record of the trials names this.
                _tell(connection, "error", _described(error))
                raise
            _tell(connection, "done")
            since = time.monotonic()


def _described(error: BaseException) -> str:
    """One line: TensorFlow's messages go on for pages."""
    text = " ".join(str(error).split())
    shown = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]} ..."
    return f"raised {type(error).__name__}: {shown}"


def _next_group(
    connection: multiprocessing.connection.Connection, stop: preemption.Request
) -> Group | None:
    """Waits for work; None when there is no more, or when told to stop."""
    multiprocessing.connection.wait([connection, stop.fileno()])
    try:
        return None if stop.requested else connection.recv()
    except (EOFError, ConnectionError):
        return None


def _tell(connection: multiprocessing.connection.Connection, *message: Any) -> None:
    """Sends a message to the parent, if there still is one."""
    with contextlib.suppress(ConnectionError):
        connection.send(message)


@dataclasses.dataclass(frozen=True)
class _Report:
    """Tells the parent how far a group is, while there is a parent."""

    connection: multiprocessing.connection.Connection
    parent: int

    def __call__(self, done: int, steps: int) -> None:
        if os.getppid() != self.parent:
            sys.exit("train: the parent process is gone")
        _tell(self.connection, "step", done, steps)


class _ToParent(logging.Handler):
    """Our log lines, to be written by the one process that owns the terminal."""

    def __init__(self, connection: multiprocessing.connection.Connection):
        super().__init__(logging.INFO)
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        _tell(self._connection, "log", record.name, record.levelno, record.getMessage())


def _train(
    assignment: Assignment,
    group: Group,
    data: SweepData,
    stacks: StackCache,
    report: Callable[[int, int], None],
    stop: Callable[[], bool],
    since: float,
) -> None:
    from components.train.trainer import GroupTrainer

    try:
        GroupTrainer(
            assignment.config,
            group,
            data,
            output=assignment.output,
            progress=assignment.progress / group.id,
            report=report,
            stop=stop,
            since=since,
            stacks=stacks,
        ).run()
    except OSError as error:
        if error.errno not in _STORAGE:
            raise
        raise UserError(
            f"{error.filename or assignment.output}: cannot be written: "
            f"{error.strerror}; what is trained so far is intact: make room, and the "
            "same command continues there"
        ) from error
