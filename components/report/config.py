"""What the report shows."""

from __future__ import annotations

import dataclasses

from models.errors import FieldError


@dataclasses.dataclass(frozen=True)
class Config:
    """The ``report`` section of an experiment file.

    Attributes:
      title: Heading of the page; the working directory's name when null.
      test_set: Whose losses the figures show; ``in_domain``, or else the first one
        with a law, when null.
      level: Nominal coverage of the intervals.
      movement_percent: A trial whose loss moves more than this over the last doubling
        of its steps is called not converged.
      dots_per_inch: Resolution of the PNG files.
    """

    title: str | None = None
    test_set: str | None = None
    level: float = 0.95
    movement_percent: float = 1.0
    dots_per_inch: int = 144

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise FieldError("level", f"{self.level:g}; expected between 0 and 1")
        if not self.movement_percent > 0:
            raise FieldError(
                "movement_percent", f"{self.movement_percent:g}; expected more than 0"
            )
        if not 36 <= self.dots_per_inch <= 600:
            raise FieldError(
                "dots_per_inch", f"{self.dots_per_inch}; expected 36 to 600"
            )
