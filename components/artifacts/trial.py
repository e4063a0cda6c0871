"""A trial: one (cohort, size, mixture, seed), and its readable name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from models.errors import UserError

SUM_TOLERANCE = 1e-3


@dataclasses.dataclass(frozen=True)
class Trial:
    """One training run.

    Attributes:
      cohort: Name of the set of tasks (``en-xx``).
      size: Name of the model size (``16k``, ``127M``).
      mixture: ``(task, weight)`` for every task of the cohort, in its order; the
        weights are in [0, 1] and sum to 1.
      seed: Seed of the initialisation and of the order of the data.
    """

    cohort: str
    size: str
    mixture: tuple[tuple[str, float], ...]
    seed: int = 0

    def __post_init__(self) -> None:
        check_mixture(dict(self.mixture))

    @property
    def id(self) -> str:
        """``en-xx_16k_p0.30_s0``: with two tasks the first one's weight, with
        more every weight but the last."""
        weights = [weight for _, weight in self.mixture]
        shown = weights if len(weights) == 1 else weights[:-1]
        text = "-".join(_weight_text(weight) for weight in shown)
        return f"{self.cohort}_{self.size}_p{text}_s{self.seed}"

    def weight(self, task: str) -> float:
        """Sampling probability of a task; 0 for one outside the mixture."""
        return dict(self.mixture).get(task, 0.0)


def check_mixture(weights: Mapping[str, float]) -> None:
    """Raises ``UserError`` unless the weights are probabilities that sum to 1."""
    shown = " ".join(f"{task}={weight:g}" for task, weight in weights.items())
    for task, weight in weights.items():
        if not (math.isfinite(weight) and 0 <= weight <= 1):
            raise UserError(f"mixture {shown}: the weight of {task} must lie in [0, 1]")
    total = sum(weights.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise UserError(f"mixture {shown}: the weights sum to {total:g}, expected 1")


def format_mixture(mixture: Mapping[str, float]) -> str:
    """``en-de=0.3,en-zh=0.7``: the ``mixture`` column of the metrics table."""
    return ",".join(f"{task}={weight:.10g}" for task, weight in mixture.items())


def parse_mixture(text: str) -> dict[str, float]:
    """The inverse of `format_mixture`, with the checks of `check_mixture`."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        task, equals, number = part.partition("=")
        try:
            weight = float(number)
        except ValueError:
            equals = ""
        if not equals or not task.strip():
            raise UserError(
                f"mixture {text!r}: cannot read {part!r}; expected "
                "task=weight,task=weight, for example en-de=0.3,en-zh=0.7"
            )
        if task.strip() in weights:
            raise UserError(f"mixture {text!r}: {task.strip()} is named twice")
        weights[task.strip()] = weight
    check_mixture(weights)
    return weights


def _weight_text(weight: float) -> str:
    """At least two decimals, more only where they are needed to stay unique."""
    text = f"{weight:.6f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"
