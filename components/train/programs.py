"""The programs of one worker: one a size, used for group after group."""

from __future__ import annotations

from collections.abc import Sequence

from components.train.config import Config
from components.train.program import Program
from models.nmt.sizes import get_shape


class Programs:
    """Hands out the program of a group, built once for all groups of a size.

    Building and tracing one takes a second or two, and XLA's work comes on top. Groups
    come sorted by size, so only the last program is kept: memory is for one model.

    Args:
      config: How to train.
      vocabulary_size: Pieces in the vocabulary.
    """

    def __init__(self, config: Config, vocabulary_size: int):
        self.config = config
        self.vocabulary_size = vocabulary_size
        self._kept: dict[tuple, Program] = {}

    def for_group(self, size: str, seeds: Sequence[int]) -> Program:
        """A program at its beginning, with the weights that these seeds draw."""
        key = (size, len(seeds))
        program = self._kept.get(key)
        if program is not None:
            program.start_over(seeds)
            return program
        self._kept.clear()
        program = Program(self.config, get_shape(size), self.vocabulary_size, seeds)
        self._kept[key] = program
        return program
