"""Rules about what the two sides of a translation have in common."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from models.errors import FieldError

if TYPE_CHECKING:
    import numpy as np

    from components.ingest.cleaning.pairs import Pairs


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
        if not 0 <= self.share <= 1:
            raise FieldError("share", f"{self.share:g} must lie in [0, 1]")
        if self.digits < 1:
            raise FieldError("digits", f"{self.digits} must be at least 1")

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
        if not 0 < self.score < 1:
            raise FieldError("score", f"{self.score:g} must lie between 0 and 1")

    def rejects(self, pairs: Pairs) -> np.ndarray:
        from components.ingest.cleaning.alignment import scores

        return scores(pairs) < self.score
