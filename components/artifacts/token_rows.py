"""Packed rows of token ids: ``.npy`` shards with one record a row.

``np.load(path, mmap_mode="r")`` opens a shard. A record holds all columns of a row
side by side, so a row drawn at random costs one read of the disk; mapped shards take
no memory of their own, and all processes share the pages that they read.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from components.artifacts.token_index import FILE_NAME, SplitTokens, TokenIndex
from models.errors import UserError

SIDES = ("source", "target")
FIELDS = ("source_ids", "source_segments", "target_ids", "target_segments")
EXAMPLES = "examples"
TARGET_TOKENS = "target_tokens"
SENTENCE_IDS = "sentence_ids"
ORIGINS = "origins"
NO_SENTENCE = -1


def row_type(
    vocabulary_size: int, source_length: int, target_length: int
) -> np.dtype[np.void]:
    """The record of a row, each column in the narrowest unsigned type.

    ``source_ids``, ``source_segments`` ``[source_length]``, the same of the target,
    ``examples`` (sentence pairs in the row) and ``target_tokens``. Segments count
    1, 2, ... within a row and are 0 on padding.
    """
    ids = np.min_scalar_type(vocabulary_size - 1)
    lengths = dict(zip(SIDES, (source_length, target_length), strict=True))
    columns: list[tuple] = []
    for side, length in lengths.items():
        segments = np.min_scalar_type(length)
        columns.append((f"{side}_ids", ids, (length,)))
        columns.append((f"{side}_segments", segments, (length,)))
    columns.append((EXAMPLES, np.min_scalar_type(min(lengths.values()))))
    columns.append((TARGET_TOKENS, np.min_scalar_type(target_length)))
    return np.dtype([(name, kind.newbyteorder("<"), *n) for name, kind, *n in columns])


def pack(columns: Mapping[str, np.ndarray], vocabulary_size: int) -> np.ndarray:
    """Rows as records.

    Args:
      columns: The `FIELDS`, int ``[rows, length]``, and ``examples``, int ``[rows]``.
        What else there is, as of a test set, keeps its type.
      vocabulary_size: All ids are smaller.

    Returns:
      Records of `row_type`, ``[rows]``, and of those other columns.
    """
    lengths = (columns[f"{side}_ids"].shape[1] for side in SIDES)
    known = row_type(vocabulary_size, *lengths)
    tokens = np.count_nonzero(columns["target_segments"], axis=1)
    columns = {**columns, TARGET_TOKENS: tokens}
    others = [
        (name, values.dtype, values.shape[1:])
        for name, values in columns.items()
        if name not in (known.names or ())
    ]
    rows = np.empty(len(tokens), np.dtype([*known.descr, *others]))
    for name in rows.dtype.names or ():
        rows[name] = columns[name]
    return rows


def shard_bytes(rows: np.ndarray) -> bytes:
    """The bytes of a shard."""
    file = io.BytesIO()
    np.save(file, rows, allow_pickle=False)
    return file.getvalue()


@dataclasses.dataclass(frozen=True, eq=False)
class TokenRows:
    """The rows of a split: of several shards, one after another.

    Attributes:
      shards: Records, ``[rows]`` each, all of one type; in memory, or mapped.
    """

    shards: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def kind(self) -> np.dtype[np.void]:
        """The type of a record."""
        return self.shards[0].dtype

    @functools.cached_property
    def _ends(self) -> np.ndarray:
        return np.cumsum([len(shard) for shard in self.shards])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Rows by their numbers, int ``[n]`` -> records ``[n]``, a copy."""
        # As bytes: NumPy copies a matrix faster than records.
        size = self.kind.itemsize
        rows = np.empty((len(numbers), size), np.uint8)
        places = np.searchsorted(self._ends, numbers, side="right")
        for place in np.unique(places).tolist():
            chosen = np.flatnonzero(places == place)
            shard = self.shards[place]
            content = shard.view(np.uint8).reshape(len(shard), size)
            first = self._ends[place] - len(shard)
            rows[chosen] = content.take(numbers[chosen] - first, axis=0)
        return rows.view(self.kind)[:, 0]


def load_rows(directory: Path, task: str, split: str) -> TokenRows:
    """The rows of one split, mapped into memory.

    Args:
      directory: An artifact of ``tokenize``.
      task: A direction such as ``en-de``.
      split: ``train`` or the name of a test set. Beside the columns of `row_type` a
        test set has ``sentence_ids``, ``[rows, most pairs in a row]``: which sentence
        of the test set, from 0, each segment is, and `NO_SENTENCE` where there is
        none; and ``origins`` of the same shape where they are known.

    Raises:
      UserError: There is no such split, or a file of it is damaged.
    """
    index = TokenIndex.load(directory)
    described = _split(directory, index, task, split)
    expected = row_type(index.vocabulary_size, index.source_length, index.target_length)
    shards = tuple(_map(directory / name, expected) for name in described.files)
    rows = TokenRows(shards)
    if len(rows) != described.rows:
        raise UserError(
            f"{directory}: {len(rows)} rows of {task} {split} in the files, "
            f"{described.rows} in {FILE_NAME}; make them again with --force tokenize"
        )
    return rows


def _split(directory: Path, index: TokenIndex, task: str, split: str) -> SplitTokens:
    if task not in index.tasks:
        raise UserError(f"{directory}: no task {task}; it has {', '.join(index.tasks)}")
    splits = index.tasks[task].splits
    if split not in splits:
        raise UserError(
            f"{directory}: no split {split} of {task}; it has {', '.join(splits)}"
        )
    return splits[split]


def _map(path: Path, expected: np.dtype[np.void]) -> np.ndarray:
    try:
        shard = np.load(path, mmap_mode="r").view(np.ndarray)
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; make it again with --force tokenize"
        ) from None
    except (ValueError, EOFError) as error:
        raise UserError(
            f"{path}: damaged ({error}); make it again with --force tokenize"
        ) from None
    if shard.dtype.descr[: len(expected.descr)] != expected.descr:
        raise UserError(
            f"{path}: not rows of the lengths and vocabulary in {FILE_NAME}; make it "
            "again with --force tokenize"
        )
    return shard
