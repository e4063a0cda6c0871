"""What travels through the Beam graph: blocks of pairs, and of dead letters.

Beam's own cost is about 40 microseconds an element, as much as cleaning a pair,
so an element is a block of some thousand pairs, kept column by column and
compressed wherever Beam stores or ships it.
"""

from __future__ import annotations

import dataclasses
import pickle
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_FAST = 1
LINE_BITS = 44


class Compressed:
    """A record that pickles, whatever the coder, to compressed columns.

    It unpacks when a column is asked for and no earlier: Beam decodes elements
    where it groups or passes them on, and holds them all while it does. It is not
    to be changed once made: asked for its bytes again, it gives the same ones.
    """

    _packed: bytes | None = None

    def __reduce__(self):
        if self._packed is None:
            columns = tuple(getattr(self, f.name) for f in dataclasses.fields(self))
            self._packed = zlib.compress(pickle.dumps(columns, protocol=5), _FAST)
        return _still_packed, (type(self), self._packed)

    def __getattr__(self, name: str) -> Any:
        """A column that is not there yet."""
        names = [field.name for field in dataclasses.fields(self)]
        if self._packed is None or name not in names:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        columns = pickle.loads(zlib.decompress(self._packed))
        self.__dict__.update(zip(names, columns, strict=True))
        return self.__dict__[name]


def _still_packed(kind: type, packed: bytes) -> Compressed:
    record = kind.__new__(kind)
    record._packed = packed
    return record


class Rejected(NamedTuple):
    """One pair in the dead letters: where it stood, why it fell, what it said."""

    file: int
    line: int
    rule: str
    source: str
    target: str


@dataclasses.dataclass
class Letters(Compressed):
    """Dead letters of one task."""

    pairs: list[Rejected]


@dataclasses.dataclass
class Block(Compressed):
    """Accepted pairs of one task, ``n`` of them.

    Attributes:
      sources: Source sentences.
      targets: Target sentences.
      source_keys: uint64 [n], see `components.ingest.keys`.
      target_keys: uint64 [n].
      pair_keys: uint64 [n].
      files: uint32 [n], position of the file in the list of inputs.
      lines: uint64 [n], line in that file, from 1.
      nats: float64 [n], -ln P(target | source) in nats; nan where unknown.
      origins: ``source``, ``target``, ``mixed`` or ``""`` where unknown.
      details: What else goes into a test set's shard (``references``, all of
        them with the target first, ``document``, ...), or None.
    """

    sources: list[str]
    targets: list[str]
    source_keys: np.ndarray
    target_keys: np.ndarray
    pair_keys: np.ndarray
    files: np.ndarray
    lines: np.ndarray
    nats: np.ndarray
    origins: list[str]
    details: list[Mapping[str, Any] | None]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def places(self) -> np.ndarray:
        """Where each pair was read, uint64 [n]: file and line in one number."""
        return self.files.astype(np.uint64) << np.uint64(LINE_BITS) | self.lines

    def take(self, index: np.ndarray) -> Block:
        """The pairs at these positions (int [m]) or where true (bool [n])."""
        if index.dtype == bool:
            index = np.flatnonzero(index)
        columns = {}
        for field in dataclasses.fields(self):
            column = getattr(self, field.name)
            if isinstance(column, list):
                columns[field.name] = [column[i] for i in index.tolist()]
            else:
                columns[field.name] = column[index]
        return Block(**columns)

    @classmethod
    def concatenate(cls, blocks: Sequence[Block]) -> Block:
        """All pairs of the blocks, in their order; at least one block."""
        columns = {}
        for field in dataclasses.fields(cls):
            parts = [getattr(block, field.name) for block in blocks]
            if isinstance(parts[0], list):
                columns[field.name] = [item for part in parts for item in part]
            else:
                columns[field.name] = np.concatenate(parts)
        return cls(**columns)

    @classmethod
    def empty(cls) -> Block:
        """A block without pairs."""
        keys = (np.zeros(0, np.uint64) for _ in range(3))
        places = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        return cls([], [], *keys, *places, np.zeros(0), [], [])
