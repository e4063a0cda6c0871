"""Pairs as the rules see them: a batch at a time, measured once for all rules."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from components.ingest.cleaning.scripts import NONE, SCRIPTS, scripts_of, written_in

_DIGIT_SCRIPTS = "0\u0660\u06f0\u0966\uff10"  # zeros whose nine successors follow


class Side:
    """One side of ``n`` pairs.

    Args:
      texts: Sentences, none of them empty and none with a line feed.
      language: Their language code.
    """

    def __init__(self, texts: Sequence[str], language: str):
        self.texts = texts
        self.language = language

    @functools.cached_property
    def joined(self) -> str:
        """All sentences, a line feed after each."""
        return "".join(f"{text}\n" for text in self.texts)

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """Characters of each, int64 [n]."""
        return np.fromiter(map(len, self.texts), np.int64, len(self.texts))

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """Where each begins in `joined`, int64 [n]."""
        return np.cumsum(self.lengths + 1) - (self.lengths + 1)

    @functools.cached_property
    def points(self) -> np.ndarray:
        """Code points of `joined`, uint32."""
        return np.frombuffer(
            self.joined.encode("utf-32-le", "surrogatepass"), np.uint32
        )

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """Length of each in letters of an alphabet, int64 [n].

        Wide characters count three, the syllables of Japanese and Korean two. Then a
        translation is as long as its source within a fifth, on average, in each of
        the 14 scripts that were tried.
        """
        points = self.points
        if self.joined.isascii():
            return self.lengths
        wide = (points >= 0x2E80) & (points < 0xD800) | (points >= 0xFF00)
        syllables = (points >= 0x3040) & (points < 0x3400)
        syllables |= (points >= 0xA000) & (points < 0xD800)
        return self.lengths + 2 * self.total(wide) - self.total(syllables)

    @functools.cached_property
    def casefolded(self) -> list[str]:
        """The sentences without their case."""
        folded = self.joined.casefold().split("\n")
        return folded[:-1]

    def total(self, where: np.ndarray) -> np.ndarray:
        """How often something is true of the characters of each, int64 [n].

        Args:
          where: bool, one for each code point of `joined`.
        """
        return np.add.reduceat(where, self.starts, dtype=np.int64)

    @functools.cached_property
    def letters(self) -> np.ndarray:
        """Letters of each by script, int64 [n, len(SCRIPTS)]."""
        kinds = scripts_of(self.points)
        counts = np.zeros((len(self.texts), len(SCRIPTS)), np.int64)
        for kind in np.flatnonzero(np.bincount(kinds, minlength=len(SCRIPTS))):
            if kind != NONE:
                counts[:, kind] = self.total(kinds == kind)
        return counts

    @property
    def letters_of_language(self) -> np.ndarray | None:
        """Letters of each in the scripts of the language, int64 [n]; None where
        they are not known."""
        scripts = written_in(self.language)
        if not scripts:
            return None
        return self.letters[:, [SCRIPTS.index(script) for script in scripts]].sum(1)

    @functools.cached_property
    def digits(self) -> np.ndarray:
        """How often each has each digit, in any numerals, int64 [n, 10]."""
        counts = np.zeros((len(self.texts), 10), np.int64)
        points = self.points
        for zero in map(ord, _DIGIT_SCRIPTS):
            at = np.flatnonzero((points >= zero) & (points < zero + 10))
            rows = np.searchsorted(self.starts, at, side="right") - 1
            np.add.at(counts, (rows, points[at] - zero), 1)
        return counts

    def matches(self, pattern: re.Pattern[str]) -> tuple[np.ndarray, np.ndarray]:
        """How often a pattern matches in each, and how many characters it takes.

        Args:
          pattern: One that matches no line feed.

        Returns:
          int64 [n] both.
        """
        spans = [found.span() for found in pattern.finditer(self.joined)]
        found = np.zeros((2, len(self.texts)), np.int64)
        if spans:
            first, last = np.array(spans).T
            rows = np.searchsorted(self.starts, first, side="right") - 1
            np.add.at(found[0], rows, 1)
            np.add.at(found[1], rows, last - first)
        return found[0], found[1]


class Pairs:
    """A batch of ``n`` pairs with text on both sides.

    Args:
      sources: Source sentences, repaired.
      targets: Target sentences.
      languages: Language codes of the sides.

    Attributes:
      open: bool [n], pairs that no rule has rejected yet: a rule that looks at
        sentences one by one looks at these only.
    """

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        languages: tuple[str, str] = ("", ""),
    ):
        self.source = Side(sources, languages[0])
        self.target = Side(targets, languages[1])
        self.open = np.ones(len(sources), bool)

    def __len__(self) -> int:
        return len(self.open)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.source, self.target

    def those(self, positions: Iterable[int]) -> np.ndarray:
        """bool [n], true at these positions."""
        found = np.zeros(len(self), bool)
        found[list(positions)] = True
        return found
