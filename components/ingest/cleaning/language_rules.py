"""Rules about the script and the language of each side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from models.errors import FieldError

if TYPE_CHECKING:
    import numpy as np

    from components.ingest.cleaning.pairs import Pairs


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
        if not 0 <= self.share <= 1:
            raise FieldError("share", f"{self.share:g} must lie in [0, 1]")

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
        if not 0 < self.confidence <= 1:
            raise FieldError(
                "confidence", f"{self.confidence:g} must lie between 0 and 1"
            )

    def rejects(self, pairs: Pairs) -> np.ndarray:
        from components.ingest.cleaning.identifier import identify

        found = pairs.those(())
        for side in pairs.sides:
            at = (pairs.open & (side.lengths >= self.characters)).nonzero()[0]
            texts = [side.texts[i] for i in at]
            told = identify(texts, side.language, self.confidence)
            found[at[told]] = True
        return found
