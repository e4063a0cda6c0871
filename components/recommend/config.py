"""What is asked of fitted laws."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

from models.errors import FieldError


@dataclasses.dataclass(frozen=True)
class Config:
    """The ``recommend`` section of an experiment file.

    Attributes:
      n: Non-embedding parameters of the model to train; when not set, ten times the
        largest fitted size.
      prefer: Weight of every task in the objective; equal when empty.
      objective: ``weighted`` (the preferred average), ``minimax`` (the worst task's
        loss) or ``regret`` (the largest excess over what a task could have alone).
      require: Losses that must be reached, ``en-zh<=1.9``; ``>=`` for metrics that
        rise.
      max_repeats: How often a task's examples may be seen; needs ``examples`` and
        ``planned_examples``.
      planned_examples: Examples of all tasks that the run will draw.
      examples: Training examples available for each task; adds proportional and
        temperature sampling to the comparison.
      test_set: Whose laws decide; ``in_domain`` or else the only one when not set.
      by: The group of runs, where the fit kept several apart: arch=B.
      frontier_sizes: Sizes of the frontier beside ``n``; the smallest and largest
        fitted ones when empty.
      points: Mixtures along the frontier.
      level: Nominal coverage of the intervals.
    """

    n: float | None = None
    prefer: Mapping[str, float] = dataclasses.field(default_factory=dict)
    objective: Literal["weighted", "minimax", "regret"] = "weighted"
    require: tuple[str, ...] = ()
    max_repeats: float | None = None
    planned_examples: float | None = None
    examples: Mapping[str, float] = dataclasses.field(default_factory=dict)
    test_set: str | None = None
    by: Mapping[str, str] = dataclasses.field(default_factory=dict)
    frontier_sizes: tuple[float, ...] = ()
    points: int = 101
    level: float = 0.95

    def __post_init__(self) -> None:
        for name, sizes in (("n", (self.n,)), ("frontier_sizes", self.frontier_sizes)):
            for size in sizes:
                if size is not None and not (math.isfinite(size) and size > 0):
                    raise FieldError(name, f"{size:g}; expected a positive number")
        for name in ("prefer", "examples"):
            for task, value in getattr(self, name).items():
                if not value >= 0:
                    raise FieldError(f"{name}.{task}", f"{value:g}; expected 0 or more")
        for name in ("max_repeats", "planned_examples"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise FieldError(name, f"{value:g}; expected a positive number")
        if self.max_repeats is not None and (
            self.planned_examples is None or not self.examples
        ):
            raise FieldError("max_repeats", "needs examples and planned_examples too")
        if self.points < 2:
            raise FieldError("points", f"{self.points}; expected 2 or more")
        if not 0 < self.level < 1:
            raise FieldError("level", f"{self.level:g}; expected between 0 and 1")
