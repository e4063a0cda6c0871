"""Cleaning rules: each rejects a pair for one reason, which is its name.

A rule is a small frozen record of its own options with one method; the field of
`Rules` that holds it is the reason written into the dead letters. Setting a
field to null in the experiment file switches that rule off.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from models.errors import FieldError

_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|https?://\S+")


@dataclasses.dataclass(frozen=True)
class TooLong:
    """Rejects a pair with a side of more than ``characters`` characters."""

    characters: int = 500

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise FieldError("characters", f"{self.characters} must be at least 1")

    def rejects(self, source: str, target: str) -> bool:
        return len(source) > self.characters or len(target) > self.characters


@dataclasses.dataclass(frozen=True)
class LengthRatio:
    """Rejects a pair whose sides differ too much in length.

    Lengths are counted in UTF-8 bytes, which makes a Chinese sentence about as
    long as its English translation (three bytes a character, a third as many
    characters), so that one threshold serves every pair of languages.

    Attributes:
      maximum: Largest (longer + added) / (shorter + added).
      added: Bytes added to both sides, so that short sentences may differ more.
    """

    maximum: float = 3.0
    added: int = 10

    def __post_init__(self) -> None:
        if not self.maximum >= 1:
            raise FieldError("maximum", f"{self.maximum:g} must be at least 1")
        if self.added < 0:
            raise FieldError("added", f"{self.added} must not be negative")

    def rejects(self, source: str, target: str) -> bool:
        sizes = len(source.encode()), len(target.encode())
        return max(sizes) + self.added > self.maximum * (min(sizes) + self.added)


@dataclasses.dataclass(frozen=True)
class Copied:
    """Rejects a pair whose target is its source, but for case.

    Attributes:
      words: Shortest source this applies to: names and interjections of a word
        or two are often the same in two languages.
    """

    words: int = 3

    def rejects(self, source: str, target: str) -> bool:
        if source.casefold() != target.casefold():
            return False
        return len(source.split()) >= self.words


@dataclasses.dataclass(frozen=True)
class Markup:
    """Rejects a pair in which tags and addresses take much of a side.

    Attributes:
      share: Largest share of a side's characters, in [0, 1].
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise FieldError("share", f"{self.share:g} must lie in [0, 1]")

    def rejects(self, source: str, target: str) -> bool:
        return self._share(source) > self.share or self._share(target) > self.share

    def _share(self, text: str) -> float:
        if "<" not in text and "://" not in text:
            return 0.0
        return sum(len(found) for found in _MARKUP.findall(text)) / len(text)


@dataclasses.dataclass(frozen=True)
class Repeated:
    """Rejects a pair in which a side says one word again and again.

    Attributes:
      times: Longest run of one word; crawled menus and stuttering translation
        systems go beyond it.
    """

    times: int = 4

    def __post_init__(self) -> None:
        if self.times < 1:
            raise FieldError("times", f"{self.times} must be at least 1")

    def rejects(self, source: str, target: str) -> bool:
        return self._repeats(source) or self._repeats(target)

    def _repeats(self, text: str) -> bool:
        words = text.split()
        if len(words) - len(set(words)) < self.times:
            return False
        run = 1
        for earlier, word in zip(words, words[1:], strict=False):
            run = run + 1 if word == earlier else 1
            if run > self.times:
                return True
        return False


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
    repeated: Repeated | None = Repeated()

    def active(self, task: str) -> tuple[tuple[str, Callable[[str, str], bool]], ...]:
        """``(name, rejects)`` of every rule that is switched on, in order."""
        rules = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return tuple((name, rule.rejects) for name, rule in rules if rule is not None)
