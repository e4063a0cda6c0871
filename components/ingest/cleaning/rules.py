"""The cleaning rules: each rejects a pair for one reason, its name.

A rule is a small frozen record of its own options with one method; the field of
`Rules` that holds it is the reason written into the dead letters. Setting a
field to null in the experiment file switches that rule off.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator
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


def _within(rule: object, low: float, high: float, *names: str) -> None:
    """Raises ``FieldError`` for an option of a rule that is out of its range."""
    for name in names:
        value = getattr(rule, name)
        if not low <= value <= high:
            raise FieldError(name, f"{value:g} must lie in [{low:g}, {high:g}]")


@dataclasses.dataclass(frozen=True)
class TooLong:
    """Rejects a pair with a side of more than ``characters`` characters."""

    characters: int = 500

    def __post_init__(self) -> None:
        _within(self, 1, math.inf, "characters")

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
        _within(self, 1, math.inf, "maximum")
        _within(self, 0, math.inf, "added")

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
        _within(self, 0, 1, "share")

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
        _within(self, 1, math.inf, "marks")

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
        _within(self, 1, math.inf, "times", "words")

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


@dataclasses.dataclass(frozen=True)
class Numbers:
    """Rejects a pair whose numbers disagree.

    Digits are compared, in any numerals and whatever their order: languages
    separate thousands, decimals, hours and the parts of a date in their own ways.

    Attributes:
      share: Smallest share of the digits of the side with more that the other side
        has too.
      digits: Fewest digits of that side: smaller numbers may be spelt out.
    """

    share: float = 0.5
    digits: int = 4

    def __post_init__(self) -> None:
        _within(self, 0, 1, "share")
        _within(self, 1, math.inf, "digits")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        left, right = (side.digits for side in pairs.sides)
        fewer = left - (left - right).clip(0)
        more = left.sum(1) + (right.sum(1) - left.sum(1)).clip(0)
        return (more >= self.digits) & (fewer.sum(1) < self.share * more)


@dataclasses.dataclass(frozen=True)
class Misaligned:
    """Rejects a pair that does not look like a translation: its lengths, endings,
    punctuation, digits and words do not go together.

    Attributes:
      score: Smallest probability of being a pair, if every other pair were not;
        see `components.ingest.cleaning.alignment`. The default costs about .3 % of
        clean text and finds a fifth to a third of what other rules leave of shuffled
        text.
    """

    score: float = 0.03

    def __post_init__(self) -> None:
        _within(self, 0, 1, "score")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        from components.ingest.cleaning.alignment import scores

        return scores(pairs) < self.score


@dataclasses.dataclass(frozen=True)
class WrongScript:
    """Rejects a pair with a side that is not in the script of its language.

    Languages whose script is not known here are not judged.

    Attributes:
      share: Smallest share of a side's letters that are in its script. Chinese
        technical text holds many Latin names, and a Chinese character says as much
        as several letters, hence the low default.
      letters: Fewest letters of a side that is judged.
    """

    share: float = 0.1
    letters: int = 4

    def __post_init__(self) -> None:
        _within(self, 0, 1, "share")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        found = pairs.those(())
        for side in pairs.sides:
            own = side.letters_of_language
            if own is not None:
                letters = side.letters.sum(1)
                found |= (letters >= self.letters) & (own < self.share * letters)
        return found


@dataclasses.dataclass(frozen=True)
class WrongLanguage:
    """Rejects a pair with a side that is in another language than it should be.

    py3langid identifies some thousand pairs a second, so it is off unless asked for.
    Languages it does not know are not judged.

    Attributes:
      confidence: Smallest probability of the other language.
      characters: Shortest side that is judged.
    """

    confidence: float = 0.9
    characters: int = 20

    def __post_init__(self) -> None:
        _within(self, 0, 1, "confidence")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        from components.ingest.cleaning.identifier import identify

        found = pairs.those(())
        for side in pairs.sides:
            at = (pairs.open & (side.lengths >= self.characters)).nonzero()[0]
            texts = [side.texts[i] for i in at]
            told = identify(texts, side.language, self.confidence)
            found[at[told]] = True
        return found


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules in the order they are asked; the first that rejects is the reason.

    Not listed, because nothing can go on without them: ``not_text`` (a side that
    is not UTF-8 or has NUL bytes) and ``empty`` (a side without text) before the
    rules; ``duplicate``, ``overlaps_test`` and ``held_out`` after them.
    """

    too_long: TooLong | None = TooLong()
    length_ratio: LengthRatio | None = LengthRatio()
    copied: Copied | None = Copied()
    markup: Markup | None = Markup()
    wrong_script: WrongScript | None = WrongScript()
    tokenised: Tokenised | None = Tokenised()
    repeated: Repeated | None = Repeated()
    numbers: Numbers | None = Numbers()
    misaligned: Misaligned | None = Misaligned()
    wrong_language: WrongLanguage | None = None

    def active(self) -> tuple[tuple[str, Callable[[Pairs], np.ndarray]], ...]:
        """``(name, rejects)`` of every rule that is switched on, in order."""
        rules = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return tuple((name, rule.rejects) for name, rule in rules if rule is not None)

    def of_invented_languages(self) -> Rules:
        """The rules that know nothing of the languages there are."""
        return dataclasses.replace(
            self, wrong_script=None, wrong_language=None, misaligned=None
        )

    def ask(self, pairs: Pairs) -> Iterator[tuple[str, np.ndarray]]:
        """The verdicts, bool [n], of one rule after another; pairs that are
        rejected by one are not open to the next."""
        for name, rejects in self.active():
            rejected = rejects(pairs) & pairs.open
            pairs.open &= ~rejected
            yield name, rejected
