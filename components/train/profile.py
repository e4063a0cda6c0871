"""A profile of a few training calls, for TensorBoard."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from components.train.group import Group
from components.train.layout import TENSORBOARD

# The first call compiles, the second one warms caches.
_FIRST, _LAST = 3, 5


class Profiler:
    """Records some early calls of a group in the folder of its first trial.

    Args:
      wanted: Whether to record at all.
      output: The folder of all trials.
      group: The group.
    """

    def __init__(self, wanted: bool, output: Path, group: Group):
        self._wanted = wanted
        self._folder = output / group.trials[0].id / TENSORBOARD
        self._call = 0
        self._running = False

    def next_call(self) -> None:
        """Before each call of the training program."""
        self._call += 1
        if self._wanted and self._call == _FIRST:
            tf.profiler.experimental.start(str(self._folder))
            self._running = True
        if self._call > _LAST:
            self.end()

    def end(self) -> None:
        """After the last call."""
        if self._running:
            tf.profiler.experimental.stop()
            self._running = False
