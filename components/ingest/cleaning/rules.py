"""The cleaning rules as a list: each rejects a pair for one reason, its name.

A rule is a small frozen record of its own options with one method; the field of
`Rules` that holds it is the reason written into the dead letters. Setting a
field to null in the experiment file switches that rule off.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from components.ingest.cleaning.agreement_rules import Misaligned, Numbers
from components.ingest.cleaning.language_rules import WrongLanguage, WrongScript
from components.ingest.cleaning.sentence_rules import (
    Copied,
    LengthRatio,
    Markup,
    Repeated,
    Tokenised,
    TooLong,
)

if TYPE_CHECKING:
    import numpy as np

    from components.ingest.cleaning.pairs import Pairs

__all__ = [
    "Copied",
    "LengthRatio",
    "Markup",
    "Misaligned",
    "Numbers",
    "Repeated",
    "Rules",
    "Tokenised",
    "TooLong",
    "WrongLanguage",
    "WrongScript",
]


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
