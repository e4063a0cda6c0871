"""Where the time of a group of trials goes."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator, Mapping

START_UP = "start_up"
COMPILATION = "compilation"
TRAINING = "training"
EVALUATION = "evaluation"
CHECKPOINTS = "checkpoints"
PHASES = (START_UP, COMPILATION, TRAINING, EVALUATION, CHECKPOINTS)


class Stopwatch:
    """Wall time by phase, in seconds.

    The first call of a compiled program traces and compiles it; what it takes
    beyond the median of the later calls is ``compilation``.

    Args:
      before: Seconds by phase of earlier attempts.
    """

    def __init__(self, before: Mapping[str, float] | None = None):
        self._sums = dict.fromkeys(PHASES, 0.0) | dict(before or {})
        self._calls: dict[str, list[float]] = {TRAINING: [], EVALUATION: []}

    def add(self, phase: str, seconds: float) -> None:
        """Notes a time that was taken elsewhere."""
        self._sums[phase] += seconds

    @contextlib.contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Adds the time that the block takes."""
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        self._sums[phase] += seconds
        if phase in self._calls:
            self._calls[phase].append(seconds)

    def call_seconds(self) -> float | None:
        """Median time of a training call that compiles nothing."""
        calls = self._calls[TRAINING][1:]
        return statistics.median(calls) if calls else None

    def seconds(self) -> dict[str, float]:
        """Seconds by phase, for all of `PHASES`."""
        found = dict(self._sums)
        for phase, calls in self._calls.items():
            if not calls:
                continue
            usual = statistics.median(calls[1:]) if calls[1:] else 0.0
            compilation = max(0.0, calls[0] - usual)
            found[phase] -= compilation
            found[COMPILATION] += compilation
        return found

    def total(self) -> float:
        """Seconds of all phases."""
        return sum(self._sums.values())
