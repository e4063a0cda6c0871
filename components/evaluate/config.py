"""What the evaluator measures."""

from __future__ import annotations

import dataclasses

from models.errors import FieldError


@dataclasses.dataclass(frozen=True)
class Config:
    """Evaluation of every trial on every test set of every task.

    Attributes:
      stack: Most models of one size that are scored side by side.
    """

    stack: int = 8

    def __post_init__(self) -> None:
        if self.stack < 1:
            raise FieldError("stack", f"got {self.stack}, expected at least 1")
