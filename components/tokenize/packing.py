"""Packing: several sentence pairs in one row of static length.

First fit: a pair goes into the oldest of a few open rows that still has room for
both of its sides; when none has, a new row is opened, and of too many open rows
the one with the least room left is closed.
"""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Plan:
    """Where each of ``n`` sentence pairs goes.

    Attributes:
      rows: int64 [n], the row of each pair; -1 for a pair longer than a row.
      segments: int64 [n], its number within the row, from 1.
      source_starts: int64 [n], first position of its source in the row.
      target_starts: int64 [n], first position of its target in the row.
      row_count: Number of rows.
    """

    rows: np.ndarray
    segments: np.ndarray
    source_starts: np.ndarray
    target_starts: np.ndarray
    row_count: int


def plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    source_length: int,
    target_length: int,
    open_rows: int,
) -> Plan:
    """Assigns pairs to rows, in the order of the pairs.

    Args:
      source_lengths: int [n], tokens of each source.
      target_lengths: int [n], tokens of each target.
      source_length: Positions of a row's source side.
      target_length: Positions of a row's target side.
      open_rows: Rows that may be open at a time, at least 1.

    Returns:
      The plan; rows are numbered in the order they are opened.

    Example:
      Rows of 8 + 8 positions and pairs of 3 + 4, 6 + 2, 4 + 4, 9 + 1, 2 + 5: the
      third fits beside the first, the fourth nowhere, the last beside the second.

      >>> p = plan(np.array([3, 6, 4, 9, 2]), np.array([4, 2, 4, 1, 5]),
      ...          source_length=8, target_length=8, open_rows=2)
      >>> p.rows.tolist(), p.segments.tolist()
      ([0, 1, 0, -1, 1], [1, 1, 2, 0, 2])
      >>> p.source_starts.tolist(), p.target_starts.tolist()
      ([0, 0, 3, 0, 6], [0, 0, 4, 0, 2])
    """
    placed: list[tuple[int, int, int, int]] = []
    pool: list[_OpenRow] = []
    count = 0
    lengths = zip(source_lengths.tolist(), target_lengths.tolist(), strict=True)
    for source, target in lengths:
        if source > source_length or target > target_length:
            placed.append((-1, 0, 0, 0))
            continue
        for row in pool:
            if row.source + source <= source_length and (
                row.target + target <= target_length
            ):
                break
        else:
            if len(pool) == open_rows:
                pool.remove(max(pool, key=_OpenRow.used))
            row = _OpenRow(count)
            pool.append(row)
            count += 1
        row.segments += 1
        placed.append((row.number, row.segments, row.source, row.target))
        row.source += source
        row.target += target
    columns = np.array(placed, dtype=np.int64).reshape(-1, 4).T
    return Plan(*columns, row_count=count)


def lay_out(
    ids: np.ndarray,
    lengths: np.ndarray,
    rows: np.ndarray,
    segments: np.ndarray,
    starts: np.ndarray,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One side of the rows of a plan.

    Args:
      ids: int [sum of lengths], ids of all sentences one after another.
      lengths: int [n], tokens of each sentence.
      rows: int [n], row of each sentence; sentences with -1 are left out.
      segments: int [n], number of each sentence within its row, from 1.
      starts: int [n], first position of each sentence in its row.
      shape: (rows, positions).

    Returns:
      Ids, segment numbers and positions within the segment, int32 [rows,
      positions] each; 0 where the row is padding.
    """
    within = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.repeat(rows * shape[1] + starts, lengths) + within
    kept = np.repeat(rows >= 0, lengths)
    values = ids, np.repeat(segments, lengths), within
    sides = np.zeros((3, shape[0] * shape[1]), np.int32)
    for side, value in zip(sides, values, strict=True):
        side[at[kept]] = value[kept]
    laid_out, laid_segments, laid_positions = sides.reshape(3, *shape)
    return laid_out, laid_segments, laid_positions


@dataclasses.dataclass(slots=True, eq=False)
class _OpenRow:
    """A row that may take more pairs: its number and what it holds."""

    number: int
    segments: int = 0
    source: int = 0
    target: int = 0

    def used(self) -> int:
        return self.source + self.target
