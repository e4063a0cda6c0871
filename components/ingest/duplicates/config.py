"""What counts as a duplicate, beyond pairs that are equal; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from typing import Literal

from models.errors import FieldError


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """Which pairs go because they say what another pair says.

    Pairs of one task that are equal after the repair always do (``duplicate``).

    Attributes:
      same: What else makes two pairs ``equivalent``, by letters and digits alone,
        whatever their case and punctuation: ``nothing``; both sides (``pair``); the
        ``source``, so that one translation of each sentence is left; the
        ``target``; or ``either`` of them.
      similarity: Where given, pairs at least this similar are ``near_duplicate``:
        Jaccard similarity of character 5-grams, estimated by MinHash.
      near: Which text is compared for that: of both sides together (``pair``), of
        the ``source``, of the ``target``, or of ``either``.
      across_tasks: Whether pairs of different tasks, and sentences on either side
        of them, are compared too.
    """

    same: Literal["nothing", "pair", "source", "target", "either"] = "nothing"
    similarity: float | None = None
    near: Literal["pair", "source", "target", "either"] = "pair"
    across_tasks: bool = False

    def __post_init__(self) -> None:
        if self.similarity is not None and not 0.5 <= self.similarity <= 1:
            raise FieldError("similarity", f"{self.similarity:g} must lie in [0.5, 1]")

    @property
    def compared(self) -> bool:
        """Whether pairs are compared beyond those that are equal."""
        return self.same != "nothing" or self.similarity is not None
