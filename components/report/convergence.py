"""How far each trial's loss still moved at the end: whether it may carry a law.

A rare task that was seen too few times imitates an irreducible loss that depends on
p, and equation 7 fails ([M] App. G, [N] section 2.1).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from components.artifacts.metrics_table import MetricsRow


@dataclasses.dataclass(frozen=True)
class Movement:
    """The end of one learning curve.

    Attributes:
      trial, size, seed, task, mixture, n, p: Whose; p > 0.
      steps: Last step of the curve.
      fall_percent: How much the loss fell from half the steps to all of them, in
        percent of the final loss; negative where it rose; None when the curve has
        no point before half.
    """

    trial: str
    size: str
    seed: int
    task: str
    mixture: str
    n: int
    p: float
    steps: int
    fall_percent: float | None

    def exceeds(self, percent: float) -> bool:
        """Whether the loss moved more than this, either way."""
        return self.fall_percent is not None and abs(self.fall_percent) > percent


def curves(
    rows: Sequence[MetricsRow], test_set: str | None
) -> Mapping[tuple[str, str], list[MetricsRow]]:
    """(trial, task) -> its curve rows on a test set, by step; no zero-shot ones."""
    found: dict[tuple[str, str], list[MetricsRow]] = {}
    for row in rows:
        if row.loss_kind == "curve" and row.loss is not None and row.p > 0:
            if test_set in (row.test_set, f"{row.test_set}:{row.origin}"):
                found.setdefault((row.trial, row.task), []).append(row)
    return {key: sorted(c, key=lambda row: row.step) for key, c in found.items()}


def movements(
    rows: Sequence[MetricsRow], test_set: str | None, without: Sequence[str] = ()
) -> list[Movement]:
    """The last doubling of every learning curve.

    Args:
      rows: The metrics table.
      test_set: Whose loss.
      without: Trials to leave out: failed ones, which ended on the way.
    """
    return [
        _movement(curve)
        for (trial, _), curve in curves(rows, test_set).items()
        if trial not in without
    ]


def _movement(curve: Sequence[MetricsRow]) -> Movement:
    last = curve[-1]
    before = loss_at(curve, last.step / 2)
    fall = None if before is None else 100.0 * (before - last.loss) / last.loss
    return Movement(
        trial=last.trial,
        size=last.size,
        seed=last.seed,
        task=last.task,
        mixture=last.mixture,
        n=last.n,
        p=last.p,
        steps=last.step,
        fall_percent=fall,
    )


def loss_at(curve: Sequence[MetricsRow], step: float) -> float | None:
    """The loss at a step, linear in log(step) between two evaluations.

    Returns:
      Nats per target token; None outside the curve.
    """
    for one in curve:
        if one.step == step:
            return one.loss
    for before, after in zip(curve, curve[1:], strict=False):
        if 0 < before.step < step < after.step:
            way = math.log(step / before.step) / math.log(after.step / before.step)
            return before.loss + way * (after.loss - before.loss)
    return None
