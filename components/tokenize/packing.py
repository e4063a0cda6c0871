"""Packing: several sentence pairs in one row of static length.

Best fit, a row at a time: of some thousand pairs the longest one begins a row, and of
the others the one that fills most of what is left comes next, until none fits. A pair
has two sides, and a row is full when one of them is: what fills both sides alike is
preferred (as in vector bin packing, Panigrahy et al. 2011).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Sentences(NamedTuple):
    """``n`` tokenised sentences.

    Attributes:
      ids: int32 [sum of lengths], one sentence after another.
      lengths: int64 [n].
    """

    ids: np.ndarray
    lengths: np.ndarray


@dataclasses.dataclass(frozen=True)
class Plan:
    """Where each of ``n`` sentence pairs goes.

    Attributes:
      rows: int64 [n], the row of each pair; -1 for a pair longer than a row.
      segments: int64 [n], its number within the row, from 1.
      source_starts: int64 [n], first position of its source in the row.
      target_starts: int64 [n], first position of its target in the row.
      shape: Rows, positions of a source side, positions of a target side.
    """

    rows: np.ndarray
    segments: np.ndarray
    source_starts: np.ndarray
    target_starts: np.ndarray
    shape: tuple[int, int, int]

    @property
    def examples(self) -> np.ndarray:
        """Pairs in each row, int64 [rows]."""
        return np.bincount(self.rows[self.rows >= 0], minlength=self.shape[0])

    @property
    def pairs(self) -> np.ndarray:
        """The number of the pair that each segment of each row is, int32 [rows,
        most pairs in a row]; -1 where there is none."""
        packed = np.flatnonzero(self.rows >= 0)
        most = int(self.segments[packed].max(initial=0))
        pairs = np.full((self.shape[0], most), -1, np.int32)
        pairs[self.rows[packed], self.segments[packed] - 1] = packed
        return pairs

    def lay_out(self, source: Sentences, target: Sentences) -> dict[str, np.ndarray]:
        """The rows: ``source_ids`` and ``source_segments``, int32 [rows, positions],
        and the same of the target; 0 where a row is padding."""
        rows, *lengths = self.shape
        laid_out = {}
        for name, sentences, starts, length in zip(
            ("source", "target"),
            (source, target),
            (self.source_starts, self.target_starts),
            lengths,
            strict=True,
        ):
            ids, counts = sentences
            first = self.rows * length + starts - (np.cumsum(counts) - counts)
            kept = np.repeat(self.rows >= 0, counts)
            at = (np.repeat(first, counts) + np.arange(len(ids)))[kept]
            for kind, values in (
                ("ids", ids),
                ("segments", np.repeat(self.segments, counts)),
            ):
                side = np.zeros(rows * length, np.int32)
                side[at] = values[kept]
                laid_out[f"{name}_{kind}"] = side.reshape(rows, length)
        return laid_out


def plan(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    source_length: int,
    target_length: int,
    window: int,
) -> Plan:
    """Assigns pairs to rows; within a row they keep their order.

    Args:
      source_lengths: int [n], tokens of each source.
      target_lengths: int [n], tokens of each target.
      source_length: Positions of a row's source side.
      target_length: Positions of a row's target side.
      window: Pairs that are put into rows together, at least 1; a row holds pairs of
        one window.

    Returns:
      The plan; rows are numbered in the order they are opened.

    Example:
      Rows of 8 + 8 positions and pairs of 3 + 4, 6 + 2, 4 + 4, 9 + 1, 2 + 5. The
      second is the longest that fits in a row, and the last one fits beside it; the
      first and the third share a row, the fourth fits nowhere.

      >>> p = plan(np.array([3, 6, 4, 9, 2]), np.array([4, 2, 4, 1, 5]),
      ...          source_length=8, target_length=8, window=16)
      >>> p.rows.tolist(), p.segments.tolist()
      ([1, 0, 1, -1, 0], [1, 1, 2, 0, 2])
      >>> p.source_starts.tolist(), p.target_starts.tolist()
      ([0, 0, 3, 0, 6], [0, 0, 4, 0, 2])
    """
    rows = np.full(len(source_lengths), -1, np.int64)
    fits = (source_lengths <= source_length) & (target_lengths <= target_length)
    order = np.flatnonzero(fits)
    row_count = 0
    for first in range(0, len(order), window):
        part = order[first : first + window]
        sides = source_lengths[part].tolist(), target_lengths[part].tolist()
        own_rows, count = _fill_rows(*sides, (source_length, target_length))
        rows[part] = np.array(own_rows) + row_count
        row_count += count
    by_row = np.flatnonzero(fits)[np.argsort(rows[fits], kind="stable")]
    counts = np.bincount(rows[fits], minlength=row_count)
    ones = np.ones_like(rows)
    segments, source_starts, target_starts = (
        _sums_before(lengths, by_row, counts)
        for lengths in (ones, source_lengths, target_lengths)
    )
    segments[by_row] += 1
    shape = row_count, source_length, target_length
    return Plan(rows, segments, source_starts, target_starts, shape)


def _fill_rows(
    source_lengths: Sequence[int],
    target_lengths: Sequence[int],
    capacity: tuple[int, int],
) -> tuple[list[int], int]:
    """The row of each pair of a window, and how many rows there are."""
    waiting = _Waiting(source_lengths, target_lengths)
    rows = [-1] * len(source_lengths)
    count = 0

    def longest(lengths: tuple[int, int]) -> tuple[int, int]:
        source, target = lengths[0] * capacity[1], lengths[1] * capacity[0]
        return max(source, target), source + target

    for lengths in sorted(waiting.pairs, key=longest, reverse=True):
        while waiting.pairs[lengths]:
            left = capacity
            pair: tuple[int, int] | None = lengths
            while pair is not None:
                rows[waiting.take(pair)] = count
                left = left[0] - pair[0], left[1] - pair[1]
                pair = waiting.best_fit(left, capacity)
            count += 1
    return rows, count


class _Waiting:
    """The pairs of a window that have no row yet, by their lengths.

    Attributes:
      pairs: (source length, target length) -> numbers of pairs, the last one first.
    """

    def __init__(self, source_lengths: Sequence[int], target_lengths: Sequence[int]):
        self.pairs: dict[tuple[int, int], list[int]] = {}
        lengths = list(zip(source_lengths, target_lengths, strict=True))
        for number in range(len(lengths) - 1, -1, -1):
            self.pairs.setdefault(lengths[number], []).append(number)
        # Sets of lengths as bits of integers: the longest of at most n is found by
        # cutting off what is above and taking the highest bit.
        self._sources = 0
        self._targets: dict[int, int] = {}  # source length -> target lengths
        for source, target in self.pairs:
            self._sources |= 1 << source
            self._targets[source] = self._targets.get(source, 0) | 1 << target

    def take(self, lengths: tuple[int, int]) -> int:
        """Takes the first pair of these lengths out; returns its number."""
        numbers = self.pairs[lengths]
        number = numbers.pop()
        if not numbers:
            source, target = lengths
            self._targets[source] ^= 1 << target
            if not self._targets[source]:
                self._sources ^= 1 << source
        return number

    def best_fit(
        self, left: tuple[int, int], capacity: tuple[int, int]
    ) -> tuple[int, int] | None:
        """Lengths of the pair to put into a row next; None when none fits.

        Of all that fit, the one with the highest score: twice the share of a row that
        it fills, both sides added, less the difference between the shares of the two
        sides that are then left.

        Args:
          left: Positions that are left on either side.
          capacity: Those of an empty row.
        """
        # Shares are counted in units of 1 / (capacity[0] * capacity[1]).
        by_source, by_target = capacity[1], capacity[0]
        best, lengths = None, None
        sources = self._sources & ((2 << left[0]) - 1)
        below = (2 << left[1]) - 1
        while sources:
            source = sources.bit_length() - 1
            sources ^= 1 << source
            rest = (left[0] - source) * by_source
            # What a target that fills its side would score: shorter sources less.
            most = 2 * (source * by_source + left[1] * by_target) - rest
            if best is not None and most <= best:
                break
            targets = self._targets[source] & below
            if not targets:
                continue
            # The score grows with the target's length.
            target = targets.bit_length() - 1
            uneven = abs(rest - (left[1] - target) * by_target)
            score = 2 * (source * by_source + target * by_target) - uneven
            if best is None or score > best:
                best, lengths = score, (source, target)
        return lengths


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
    sums = np.zeros(len(lengths), np.int64)
    sums[by_row] = before - np.repeat(before[first], counts)
    return sums
