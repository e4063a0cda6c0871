"""How far a sweep is: one line that moves on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Mapping

from components.duration import duration
from components.train.group import Group

log = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_LINE_SECONDS = 0.5
# Back to the left edge, and clear to the right one (ECMA-48: CR, EL 0).
_ERASE = "\r\x1b[K"


class ProgressLine:
    """Wall time of a sweep, how far it is, and how long it will still take.

    Time left is work left over the speed so far. Work is counted in multiplications,
    see ``costs``; small models do less of it a second than large ones, and the large
    ones come first, so the estimate is early on rather too low.

    Args:
      costs: Work of each group to train, in any unit.
      jobs: Groups that train at once.
      before: Seconds that earlier attempts took.
    """

    def __init__(self, costs: Mapping[Group, float], jobs: int, before: float = 0.0):
        self._costs = {group.id: cost for group, cost in costs.items()}
        self._running: dict[str, _Running] = {}
        self._trials = sum(len(group.trials) for group in costs)
        self._jobs = jobs
        self._done_trials = 0
        self._done: set[str] = set()
        self._before = before
        self._work = 0.0
        self._started = self._shown = time.monotonic()
        self._line = sys.stderr.isatty()
        if self._line:
            self._eraser = _Eraser()
            logging.getLogger(__name__.partition(".")[0]).addHandler(self._eraser)

    def seconds(self) -> float:
        """Wall time of the sweep, earlier attempts included."""
        return self._before + time.monotonic() - self._started

    def step(self, group: Group, step: int, steps: int) -> bool:
        """Notes how far a group is; says so from time to time, returning True."""
        share = step / steps
        known = self._running.get(group.id)
        if known is None or share < known.share:
            # A group that was resumed has done part of its work before.
            known = _Running(group, share, time.monotonic(), share)
            self._running[group.id] = known
        self._work += (share - known.share) * self._costs[group.id]
        known.share = share
        every = _LINE_SECONDS if self._line else _LOG_SECONDS
        if time.monotonic() - self._shown < every:
            return False
        self._show()
        return True

    def done(self, group: Group) -> None:
        """Notes that nothing is left to do for a group."""
        self._running.pop(group.id, None)
        self._done.add(group.id)
        self._done_trials += len(group.trials)
        self._show()

    def close(self) -> None:
        """Takes the moving line away."""
        if self._line:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            logging.getLogger(__name__.partition(".")[0]).removeHandler(self._eraser)

    def seconds_left(self) -> float | None:
        """Estimated time to the end of the sweep; None as long as nothing is known."""
        elapsed = time.monotonic() - self._started
        if not self._work or elapsed <= 0:
            return None
        left = sum(
            cost * (1 - (self._running[name].share if name in self._running else 0.0))
            for name, cost in self._costs.items()
            if name not in self._done
        )
        return max(
            [left * elapsed / self._work]
            + [running.seconds_left() or 0.0 for running in self._running.values()]
        )

    def text(self) -> str:
        """``12 of 30 trials, 2 min 10 s, 3 min left (21k at 45 %, 40 s left)``."""
        left = self.seconds_left()
        parts = [
            f"{self._done_trials} of {self._trials} trials",
            duration(self.seconds()),
        ]
        if left is not None and self._running:
            parts.append(f"{duration(left)} left")
        running = "; ".join(str(one) for one in self._running.values())
        return ", ".join(parts) + (f" ({running})" if running else "")

    def _show(self) -> None:
        self._shown = time.monotonic()
        if not self._line:
            log.info("train: %s", self.text())
            return
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"{_ERASE}train: {self.text()}"[: width + len(_ERASE)])
        sys.stderr.flush()


class _Running:
    """A group in training."""

    def __init__(self, group: Group, share: float, since: float, first: float):
        self.group, self.share = group, share
        self._since, self._first = since, first

    def seconds_left(self) -> float | None:
        """Estimated time to its end."""
        done = self.share - self._first
        if done <= 0:
            return None
        return (time.monotonic() - self._since) * (1 - self.share) / done

    def __str__(self) -> str:
        left = self.seconds_left()
        shown = "" if left is None else f", {duration(left)} left"
        return f"{self.group.size} at {self.share:.0%}{shown}"


class _Eraser(logging.Handler):
    """Takes the moving line away before a log line is written."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
