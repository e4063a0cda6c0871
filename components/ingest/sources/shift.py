"""Where two files that should be line-aligned lose each other.

Lines of the shorter file are missing somewhere. How well line i of one fits line j
of the other is scored by what needs no dictionary: lengths, digits and the closing
mark, as in Gale and Church (1993), "A program for aligning sentences in bilingual
corpora". The likeliest way to be shifted by one more line again and again, from none
to all of the missing ones, is found exactly, and with it the first loss.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

import numpy as np

_DIGITS = re.compile(r"\d+")
_LARGEST_SHIFT = 64
_MOST_LINES = 1_000_000
_JUMP = 6.0  # nats against a loss at any particular line
_SURE = 3.0  # nats by which the place must be likelier than those outside it
_WIDEST = 40  # lines; a place less certain than this helps nobody
_MARKS = {"?": 1, "？": 1, "!": 2, "！": 2, ":": 3, "：": 3, ".": 4, "。": 4}
_SPREAD = 0.35  # of the logarithm of the ratio of lengths, for translations


def describe(
    lines: Iterable[str], other_lines: Iterable[str], count: int, other_count: int
) -> str:
    """Where the first line is missing, in words; empty when it cannot be told.

    Args:
      lines: Lines of one file.
      other_lines: Lines of the other.
      count: How many ``lines`` are.
      other_count: How many ``other_lines`` are.
    """
    if abs(count - other_count) > _LARGEST_SHIFT:
        return ""
    if max(count, other_count) > _MOST_LINES:
        return ""
    found = locate(_features(lines), _features(other_lines))
    if found is None:
        return ""
    first, last = found
    if first == last:
        return f"; they differ from line {first} on"
    return f"; they differ from between line {first} and line {last} on"


def locate(left: np.ndarray, right: np.ndarray) -> tuple[int, int] | None:
    """The lines between which the first line is missing from the shorter side.

    Args:
      left: Features of one side, float64 [lines, 3]; see `_features`.
      right: Features of the other side, float64 [other lines, 3].

    Returns:
      First and last line, from 1, that may be the first to be unlike its
      counterpart; None when neither is likely enough.
    """
    if len(left) < len(right):
        left, right = right, left
    if not len(right):
        return None
    shifts = len(left) - len(right)
    # best[i]: of all ways to place lines i, i+1, ... shifted by s or more.
    best = _from_here(_fit(left[shifts:], right))
    for s in range(shifts - 1, 0, -1):
        sums = _from_here(_fit(left[s : s + len(right)], right))
        # Stay until line j, then lose one more: sums[i] - sums[j] + best[j] - jump.
        later = np.maximum.accumulate((best - sums)[::-1])[::-1]
        best = sums + later - _JUMP
    unshifted = _fit(left[: len(right)], right)
    total = np.concatenate([[0.0], np.cumsum(unshifted)]) + best
    likely = np.flatnonzero(total >= total.max() - _SURE)
    if likely[-1] - likely[0] > _WIDEST:
        return None
    return int(likely[0]) + 1, int(likely[-1]) + 1


def _from_here(scores: np.ndarray) -> np.ndarray:
    """Sum of the scores from each line to the end, [lines + 1]."""
    return np.concatenate([np.cumsum(scores[::-1])[::-1], [0.0]])


def _features(lines: Iterable[str]) -> np.ndarray:
    """Logarithm of the length, a digest of the digits (0 without), and the closing
    mark (0 without) of each line, float64 [lines, 3]."""
    found = np.array(list(_each(lines)), np.float64)
    return found.reshape(-1, 3)


def _each(lines: Iterable[str]) -> Iterator[tuple[float, int, int]]:
    for line in lines:
        line = line.strip()
        digits = " ".join(sorted(_DIGITS.findall(line)))
        digest = zlib.crc32(digits.encode()) if digits else 0
        length = np.log(len(line.encode(errors="replace")) + 10)
        yield length, digest, _MARKS.get(line[-1:], 0)


def _fit(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Nats by which each line fits its counterpart better than a chance one."""
    ratio = left[:, 0] - right[:, 0]
    ratio = ratio - np.median(ratio)
    chance = np.sqrt(_SPREAD**2 + left[:, 0].var() + right[:, 0].var())
    length = np.log(chance / _SPREAD)
    length = length - 0.5 * (ratio / _SPREAD) ** 2 + 0.5 * (ratio / chance) ** 2
    one, other = left[:, 1], right[:, 1]
    digits = np.where((one > 0) & (one == other), 4.0, 0.0)
    digits[(one != other)] = -2.0
    marks = np.where(left[:, 2] == right[:, 2], 0.3, -1.0)
    return np.maximum(length, -5.0) + digits + marks
