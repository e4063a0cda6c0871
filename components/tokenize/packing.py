"""Packing: several sentence pairs in one row of static length.

First fit decreasing: of every few hundred pairs the long ones come first, and the
short ones fill what they leave. A pair goes into the oldest of a few open rows that
still has room for both of its sides; when none has, a new row is opened, and of too
many open rows the one with the least room left is closed.
"""

from __future__ import annotations

import dataclasses

import numpy as np

# Pairs that are sorted by length together, for each open row. Fewer leave too few
# short ones to fill the gaps; with more, all open rows are full of long ones.
_WINDOW = 16


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
    """Assigns pairs to rows; within a row they keep their order.

    Args:
      source_lengths: int [n], tokens of each source.
      target_lengths: int [n], tokens of each target.
      source_length: Positions of a row's source side.
      target_length: Positions of a row's target side.
      open_rows: Rows that may be open at a time, at least 1.

    Returns:
      The plan; rows are numbered in the order they are opened.

    Example:
      Rows of 8 + 8 positions and pairs of 3 + 4, 6 + 2, 4 + 4, 9 + 1, 2 + 5. The
      second is the longest that fits in a row; the last one finds room beside it, the
      first and the third share a row, the fourth fits nowhere.

      >>> p = plan(np.array([3, 6, 4, 9, 2]), np.array([4, 2, 4, 1, 5]),
      ...          source_length=8, target_length=8, open_rows=2)
      >>> p.rows.tolist(), p.segments.tolist()
      ([1, 0, 1, -1, 0], [1, 1, 2, 0, 2])
      >>> p.source_starts.tolist(), p.target_starts.tolist()
      ([0, 0, 3, 0, 6], [0, 0, 4, 0, 2])
    """
    rows = np.full(len(source_lengths), -1, np.int64)
    fits = (source_lengths <= source_length) & (target_lengths <= target_length)
    order = np.flatnonzero(fits)
    longest = np.maximum(source_lengths, target_lengths)[order]
    window = np.arange(len(order)) // (open_rows * _WINDOW)
    order = order[np.lexsort((-longest, window))]
    found, row_count = _first_fit(
        source_lengths[order].tolist(),
        target_lengths[order].tolist(),
        (source_length, target_length),
        open_rows,
    )
    rows[order] = found
    by_row = np.flatnonzero(fits)[np.argsort(rows[fits], kind="stable")]
    counts = np.bincount(rows[fits], minlength=row_count)
    ones = np.ones_like(rows)
    segments, source_starts, target_starts = (
        _sums_before(lengths, by_row, counts)
        for lengths in (ones, source_lengths, target_lengths)
    )
    segments[by_row] += 1
    return Plan(rows, segments, source_starts, target_starts, row_count)


def _first_fit(
    source_lengths: list[int],
    target_lengths: list[int],
    room: tuple[int, int],
    open_rows: int,
) -> tuple[list[int], int]:
    """The row of each pair, and how many rows there are."""
    rows: list[int] = []
    pool: list[_OpenRow] = []
    count = 0
    for source, target in zip(source_lengths, target_lengths, strict=True):
        for row in pool:
            if row.source + source <= room[0] and row.target + target <= room[1]:
                break
        else:
            if len(pool) == open_rows:
                pool.remove(max(pool, key=_OpenRow.used))
            row = _OpenRow(count)
            pool.append(row)
            count += 1
        rows.append(row.number)
        row.source += source
        row.target += target
    return rows, count


def _sums_before(
    lengths: np.ndarray, by_row: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Sum of ``lengths`` over the pairs before each pair in its row.

    Args:
      lengths: int [n].
      by_row: Numbers of the pairs, row after row.
      counts: Pairs in each row.

    Returns:
      int64 [n]; 0 for a pair without a row.
    """
    before = np.cumsum(lengths[by_row]) - lengths[by_row]
    first = np.cumsum(counts) - counts
    found = np.zeros(len(lengths), np.int64)
    found[by_row] = before - np.repeat(before[first], counts)
    return found


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
    source: int = 0
    target: int = 0

    def used(self) -> int:
        return self.source + self.target
