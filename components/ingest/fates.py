"""What becomes of each pair of a bucket."""

from __future__ import annotations

import dataclasses

import numpy as np

# Not a rule that rejects: the pair stands in a test set.
TESTED = "tested"
_NAMES = (
    "",
    TESTED,
    "duplicate",
    "equivalent",
    "near_duplicate",
    "overlaps_test",
    "resembles_test",
    "held_out",
)


@dataclasses.dataclass(frozen=True)
class Fates:
    """For each pair nothing yet, or why it is not trained on.

    Attributes:
      codes: uint8 [n], position in the list of reasons; 0 for none.
    """

    codes: np.ndarray

    @classmethod
    def none(cls, count: int) -> Fates:
        """Nothing has happened to any of ``count`` pairs."""
        return cls(np.zeros(count, np.uint8))

    def copy(self) -> Fates:
        """The same fates; giving more leaves the others as they are."""
        return Fates(self.codes.copy())

    def give(self, name: str, where: np.ndarray) -> None:
        """Gives this fate to the pairs that have none yet, bool [n]."""
        self.codes[where & self.open] = _NAMES.index(name)

    @property
    def open(self) -> np.ndarray:
        """Pairs without a fate, bool [n]: they are trained on."""
        return self.codes == 0

    @property
    def rejected(self) -> np.ndarray:
        """Pairs that a rule rejects, bool [n]."""
        return self.codes > _NAMES.index(TESTED)

    def rules(self, index: np.ndarray) -> list[str]:
        """The fates of the pairs at these positions."""
        return [_NAMES[code] for code in self.codes[index].tolist()]
