"""Rules about the sentences as such: length, copies, markup, repetition."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from models.errors import FieldError

if TYPE_CHECKING:
    import numpy as np

    from components.ingest.cleaning.pairs import Pairs, Side

# Tags, addresses and what is left of entities that were written twice.
_MARKUP = re.compile(
    r"</?[A-Za-z][^<>\n]*>|https?://\S+|&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,6});"
)
# What tokenisers leave: "word ." and "word ,", "( word", "is n't", "he 's",
# "`` word ''", "word @-@ word", and quotes with a space on both sides. French puts
# a space before ; : ! ? and inside guillemets, so those tell nothing.
_TOKENISED = re.compile(
    r" [.,](?=[ \n])| n't(?=[ \n])| '(?:s|re|ve|ll|d|m)(?=[ \n])| @-@ "
    r"|(?<![^ \n])`` | ''(?=[ \n])| \"(?= )| -[LR]RB-(?=[ \n])|\( (?=\w)|(?<=\w) \)"
)
_UNSPACED = 12  # characters a word beyond which a text has no spaces between words


@dataclasses.dataclass(frozen=True)
class TooLong:
    """Rejects a pair with a side of more than ``characters`` characters."""

    characters: int = 500

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise FieldError("characters", f"{self.characters} must be at least 1")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        source, target = pairs.sides
        long = source.lengths > self.characters
        return long | (target.lengths > self.characters)


@dataclasses.dataclass(frozen=True)
class LengthRatio:
    """Rejects a pair whose sides differ too much in length.

    Lengths are counted in letters of an alphabet (`Side.sizes`): a Chinese character
    counts three, so that one threshold serves every pair of scripts.

    Attributes:
      maximum: Largest (longer + added) / (shorter + added).
      added: Letters added to both sides, so that short sentences may differ more.
    """

    maximum: float = 3.0
    added: int = 10

    def __post_init__(self) -> None:
        if not self.maximum >= 1:
            raise FieldError("maximum", f"{self.maximum:g} must be at least 1")
        if self.added < 0:
            raise FieldError("added", f"{self.added} must not be negative")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        left, right = (side.sizes + self.added for side in pairs.sides)
        return (left > self.maximum * right) | (right > self.maximum * left)


@dataclasses.dataclass(frozen=True)
class Copied:
    """Rejects a pair whose target is its source, but for case.

    Attributes:
      words: Shortest source this applies to: names and interjections of a word
        or two are often the same in two languages.
    """

    words: int = 3

    def rejects(self, pairs: Pairs) -> np.ndarray:
        sides = zip(pairs.source.casefolded, pairs.target.casefolded, strict=True)
        return pairs.those(
            i
            for i, (source, target) in enumerate(sides)
            if source == target and len(source.split()) >= self.words
        )


@dataclasses.dataclass(frozen=True)
class Markup:
    """Rejects a pair in which tags, addresses and entities take much of a side.

    Entities have been resolved once before; those that are still there were
    written twice, as in ``&amp;quot;``.

    Attributes:
      share: Largest share of a side's characters, in [0, 1].
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise FieldError("share", f"{self.share:g} must lie in [0, 1]")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        found = pairs.those(())
        for side in pairs.sides:
            if any(mark in side.joined for mark in ("<", "://", "&")):
                found |= side.matches(_MARKUP)[1] > self.share * side.lengths
        return found


@dataclasses.dataclass(frozen=True)
class Tokenised:
    """Rejects a pair in which a side was tokenised and not put together again, or
    put together with its quotation marks astray: ``he is n't " here " .``

    Attributes:
      marks: Traces of a tokeniser in one side that are enough.
    """

    marks: int = 2

    def __post_init__(self) -> None:
        if self.marks < 1:
            raise FieldError("marks", f"{self.marks} must be at least 1")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        source, target = (side.matches(_TOKENISED)[0] for side in pairs.sides)
        return (source >= self.marks) | (target >= self.marks)


@dataclasses.dataclass(frozen=True)
class Repeated:
    """Rejects a pair in which a side says the same again and again.

    Attributes:
      times: Largest number of times in a row; crawled menus and stuttering
        translation systems go beyond it.
      words: Longest sequence of words that is looked at; in text without spaces,
        of characters.
    """

    times: int = 4
    words: int = 4

    def __post_init__(self) -> None:
        for name in ("times", "words"):
            if getattr(self, name) < 1:
                raise FieldError(name, f"{getattr(self, name)} must be at least 1")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        found = pairs.those(())
        for side in pairs.sides:
            found |= pairs.those(self._repetitive(side, pairs.open))
        return found

    def _repetitive(self, side: Side, open_pairs: np.ndarray) -> list[int]:
        found = []
        for i, text in enumerate(side.texts):
            words: list[str] | str = text.split()
            if len(words) * _UNSPACED < len(text):
                words = text
            again = len(words) - len(set(words))
            if again >= self.times and open_pairs[i] and self._repeats(words):
                found.append(i)
        return found

    def _repeats(self, words: list[str] | str) -> bool:
        """Whether words, each the same as the one a period earlier, are enough."""
        for period in range(1, self.words + 1):
            run = 0
            for earlier, word in zip(words, words[period:], strict=False):
                run = run + 1 if word == earlier else 0
                if run >= self.times * period:
                    return True
        return False
