"""Configuration of the ``select`` step; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from components import beam_runner
from models.errors import FieldError


@dataclasses.dataclass(frozen=True)
class Config:
    """From clean text to the part of it that is most worth training on.

    Attributes:
      keep: Share of each task's training pairs that is kept, those with the best
        scores; one number, or task -> number.
      sample: Pairs of each task, at most, that the score is trained on.
      iterations: Of expectation maximisation of the lexical scores.
      seed: Of the sample and of the corruption that the score learns to tell.
      beam_options: Options for Beam; the runner is FnApiRunner unless named.
    """

    keep: float | Mapping[str, float] = 0.5
    sample: int = 100_000
    iterations: int = 5
    seed: int = 0
    beam_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shares = self.keep if isinstance(self.keep, Mapping) else {"": self.keep}
        for task, share in shares.items():
            if not 0 < share <= 1:
                field = f"keep.{task}" if task else "keep"
                raise FieldError(field, f"{share:g} must lie in (0, 1]")
        if self.sample < 100:
            raise FieldError("sample", f"{self.sample} must be at least 100")
        if not 1 <= self.iterations <= 100:
            raise FieldError("iterations", f"{self.iterations} must lie in [1, 100]")
        if not 0 <= self.seed < 2**63:
            raise FieldError("seed", f"{self.seed} must lie in [0, 2^63)")
        beam_runner.check(self.beam_options)

    def share(self, task: str) -> float:
        """Share of a task's pairs that is kept; all of a task that is not named."""
        if isinstance(self.keep, Mapping):
            return self.keep.get(task, 1.0)
        return self.keep
