"""Text on disk between two stages of the graph, so that only references travel.

Whatever a local runner passes from stage to stage it holds in memory, several
times over. So cleaned pairs and dead letters go to scratch files as they are made;
the graph groups references to parts of them, and a stage reads the columns it
needs: keys to find duplicates and components, text to write a shard.

A part is ``columns`` (uint64, column by column), the length of every sentence in
bytes (uint32), the sentences (source, target, source, ...) and pickled extras.
"""

from __future__ import annotations

import dataclasses
import pickle
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from apache_beam.io.filesystems import FileSystems

from components.ingest.block import LINE_BITS, Block, Rejected

PLAIN = "uncompressed"
# Columns of pairs; dead letters have their places alone.
SOURCE_KEYS, TARGET_KEYS, PAIR_KEYS, PLACES = range(4)


class Ref(NamedTuple):
    """A part of a scratch file: where it is and how long each of its pieces."""

    path: str
    offset: int
    pairs: int
    columns: int
    text_bytes: int
    extra_bytes: int

    @property
    def key_bytes(self) -> int:
        return 8 * self.columns * self.pairs

    @property
    def total_bytes(self) -> int:
        return self.key_bytes + 8 * self.pairs + self.text_bytes + self.extra_bytes


@dataclasses.dataclass(frozen=True)
class Packed:
    """Pairs of sentences in one buffer: a fifth of what as many ``str`` take.

    Attributes:
      columns: uint64 [columns, n].
      bounds: int64 [2 n + 1], where each sentence starts; sources are even.
      text: UTF-8.
      extras: For each pair what else is known of it, or None for none at all.
    """

    columns: np.ndarray
    bounds: np.ndarray
    text: bytes | bytearray
    extras: list[Any] | None = None

    def __len__(self) -> int:
        return self.columns.shape[1]

    def pair(self, position: int) -> tuple[str, str]:
        """Source and target of one pair."""
        start, middle, end = self.bounds[2 * position : 2 * position + 3].tolist()
        return self.text[start:middle].decode(), self.text[middle:end].decode()

    def pairs(self, order: np.ndarray) -> Iterator[tuple[int, str, str]]:
        """``(position, source, target)`` of the pairs at these positions."""
        for position in order.tolist():
            yield position, *self.pair(position)

    def take(self, index: np.ndarray, columns: np.ndarray) -> Packed:
        """The text of the pairs at these positions with other columns."""
        view = memoryview(self.text)
        starts, ends = self.bounds[2 * index], self.bounds[2 * index + 2]
        sizes = np.diff(self.bounds)
        both = np.stack([sizes[2 * index], sizes[2 * index + 1]], axis=1).ravel()
        cut = zip(starts.tolist(), ends.tolist(), strict=True)
        text = b"".join([view[start:end] for start, end in cut])
        return Packed(columns, np.concatenate([[0], np.cumsum(both)]), text)


class Writer:
    """Writes parts to one scratch file, opened with the first and closed by hand.

    Args:
      folder: Where scratch files go; names are random, so that workers and
        repeated attempts never meet.
    """

    def __init__(self, folder: str):
        self._folder = folder
        self._path = ""
        self._file: BinaryIO | None = None
        self._offset = 0

    def write(self, packed: Packed) -> Ref:
        """Appends a part; it can be read once the writer is closed."""
        if self._file is None:
            self._path = FileSystems.join(self._folder, uuid.uuid4().hex)
            self._file = FileSystems.create(self._path, compression_type=PLAIN)
            self._offset = 0
        extra = pickle.dumps(packed.extras, 5) if packed.extras else b""
        lengths = np.diff(packed.bounds).astype(np.uint32)
        columns = np.ascontiguousarray(packed.columns, np.uint64)
        for piece in (columns.reshape(-1).data, lengths.data, packed.text, extra):
            self._file.write(piece)
        sizes = len(packed.text), len(extra)
        ref = Ref(self._path, self._offset, len(packed), len(columns), *sizes)
        self._offset += ref.total_bytes
        return ref

    def close(self) -> None:
        """Completes the file; the next part starts another."""
        if self._file is not None:
            self._file.close()
            self._file = None


def pack(sources: Sequence[str], targets: Sequence[str], columns: np.ndarray) -> Packed:
    """Pairs in one buffer."""
    encoded = [
        text.encode() for pair in zip(sources, targets, strict=True) for text in pair
    ]
    bounds = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=bounds[1:])
    return Packed(columns, bounds, b"".join(encoded))


def bare(columns: np.ndarray) -> Packed:
    """Columns without text."""
    return Packed(columns, np.zeros(2 * columns.shape[1] + 1, np.int64), b"")


def pack_block(block: Block) -> Packed:
    """A block of accepted pairs with the columns of pairs."""
    keys = block.source_keys, block.target_keys, block.pair_keys, block.places
    packed = pack(block.sources, block.targets, np.stack(keys))
    known = not np.isnan(block.nats).all() or any(block.origins) or any(block.details)
    if not known:
        return packed
    extras = list(zip(block.nats.tolist(), block.origins, block.details, strict=True))
    if np.isnan(block.nats).all() and not any(block.details):
        # One object for all pairs of one origin: on disk and in memory a reference.
        shared = {origin: (np.nan, origin, None) for origin in set(block.origins)}
        extras = [shared[origin] for origin in block.origins]
    return dataclasses.replace(packed, extras=extras)


def unpack_block(packed: Packed, order: np.ndarray) -> Block:
    """The pairs at these positions as a block."""
    columns = packed.columns[:, order]
    pairs = [packed.pair(position) for position in order.tolist()]
    extras = packed.extras or [(np.nan, "", None)] * len(packed)
    nats, origins, details = [], [], []
    for position in order.tolist():
        extra = extras[position]
        nats.append(extra[0])
        origins.append(extra[1])
        details.append(extra[2])
    files, lines = unplaced(columns[PLACES])
    return Block(
        [source for source, _ in pairs],
        [target for _, target in pairs],
        *(columns[i] for i in (SOURCE_KEYS, TARGET_KEYS, PAIR_KEYS)),
        files,
        lines,
        np.array(nats, np.float64),
        origins,
        details,
    )


def pack_letters(letters: Sequence[Rejected]) -> Packed:
    """Dead letters: their places, their text and, as extras, their rules."""
    places = [[letter.file << LINE_BITS | letter.line for letter in letters]]
    sides = [x.source for x in letters], [x.target for x in letters]
    packed = pack(*sides, np.array(places, np.uint64))
    return dataclasses.replace(packed, extras=[letter.rule for letter in letters])


def unplaced(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """File (uint32 [n]) and line (uint64 [n]) of places."""
    files = (places >> np.uint64(LINE_BITS)).astype(np.uint32)
    return files, places & np.uint64((1 << LINE_BITS) - 1)


def read_columns(refs: Sequence[Ref], columns: int) -> np.ndarray:
    """The first columns of all parts, one part after another.

    Returns:
      uint64 [columns, sum of the parts' pairs].
    """
    found = np.empty((columns, sum(ref.pairs for ref in refs)), np.uint64)
    for ref, at, file in _opened(refs):
        content = file.read(8 * columns * ref.pairs)
        part = np.frombuffer(content, np.uint64).reshape(columns, ref.pairs)
        found[:, at : at + ref.pairs] = part
    return found


def read(refs: Sequence[Ref]) -> Packed:
    """All parts as one, in the order of the references."""
    pairs = sum(ref.pairs for ref in refs)
    columns = np.empty((refs[0].columns if refs else 4, pairs), np.uint64)
    bounds = np.zeros(2 * pairs + 1, np.int64)
    text = bytearray(sum(ref.text_bytes for ref in refs))
    extras: list[Any] | None = None
    filled = 0
    for ref, at, file in _opened(refs):
        keys = np.frombuffer(file.read(ref.key_bytes), np.uint64)
        columns[:, at : at + ref.pairs] = keys.reshape(-1, ref.pairs)
        lengths = np.frombuffer(file.read(8 * ref.pairs), np.uint32)
        bounds[2 * at + 1 : 2 * (at + ref.pairs) + 1] = lengths
        text[filled : filled + ref.text_bytes] = file.read(ref.text_bytes)
        filled += ref.text_bytes
        if ref.extra_bytes:
            extras = extras or [(np.nan, "", None)] * pairs
            extras[at : at + ref.pairs] = pickle.loads(file.read(ref.extra_bytes))
    return Packed(columns, np.cumsum(bounds, out=bounds), text, extras)


def _opened(refs: Iterable[Ref]) -> Iterator[tuple[Ref, int, BinaryIO]]:
    """Each part, how many pairs come before it, and its file at its start."""
    at, path, file = 0, "", None
    try:
        for ref in refs:
            if ref.path != path:
                if file is not None:
                    file.close()
                path = ref.path
                file = FileSystems.open(path, compression_type=PLAIN)
            file.seek(ref.offset)
            yield ref, at, file
            at += ref.pairs
    finally:
        if file is not None:
            file.close()
