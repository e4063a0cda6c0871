"""Being told to stop: SIGTERM, which batch systems and clouds send before they take a
machine back.

A step that can save its work asks from time to time whether it was told (`noticed`);
any other is ended where it is (`raising`), which loses nothing that was complete.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

# EX_TEMPFAIL of sysexits.h: nothing is wrong, the same command goes on from here.
EXIT_STATUS = 75


class Preempted(BaseException):
    """The process was told to stop, and its work is saved.

    Not an ``Exception``, like ``KeyboardInterrupt``: nothing that handles errors
    should take it for one.
    """


class Request:
    """Whether SIGTERM has come.

    Attributes:
      requested: Set once it has.
    """

    def __init__(self) -> None:
        self.requested = False
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        """A descriptor that becomes readable: something to wait for."""
        return self._read

    def note(self, *_: object) -> None:
        """The signal handler."""
        if not self.requested:
            self.requested = True
            os.write(self._write, b"\0")

    def close(self) -> None:
        """Closes the descriptors."""
        os.close(self._read)
        os.close(self._write)


@contextlib.contextmanager
def noticed() -> Iterator[Request]:
    """SIGTERM only sets ``requested`` while this is open."""
    request = Request()
    try:
        with _handled_by(request.note):
            yield request
    finally:
        request.close()


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """SIGTERM raises `Preempted` in the main thread while this is open."""

    def stop(*_: object) -> None:
        raise Preempted("stopped by SIGTERM; the same command continues here")

    with _handled_by(stop):
        yield


@contextlib.contextmanager
def _handled_by(handler: signal._HANDLER) -> Iterator[None]:
    """Only the main thread can set handlers; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
