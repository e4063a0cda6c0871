"""The proof: what the fit has never seen, predicted and measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from components.fit.held_out import Compared

KINDS = ("size", "mixture")
# The joint law knows the mixtures it was fitted on and so predicts other sizes
# ([M] eq. 7); the approximate law predicts new mixtures (eq. 11).
_FIRST = {
    "size": ("joint", "approximate", "shared"),
    "mixture": ("approximate", "joint", "shared"),
}


def chosen(compared: Sequence[Compared], kind: str) -> list[Compared]:
    """One comparison a measurement: that of the law which speaks first.

    Args:
      compared: Every law's prediction of every held-out measurement.
      kind: ``size`` or ``mixture``.
    """
    found: dict[tuple[str, str, str], Compared] = {}
    for law in _FIRST[kind]:
        for one in compared:
            known = (one.kind, one.law) == (kind, law)
            if known and math.isfinite(one.error_percent):
                found.setdefault((one.trial, one.task, one.test_set), one)
    return sorted(found.values(), key=lambda one: (one.task, one.p, one.n))


def errors(compared: Sequence[Compared], kind: str) -> dict[str, float] | None:
    """Median and worst error in percent; None where nothing was held out."""
    sizes = [abs(one.error_percent) for one in chosen(compared, kind)]
    if not sizes:
        return None
    return {
        "median_error_percent": statistics.median(sizes),
        "max_error_percent": max(sizes),
        "n_points": len(sizes),
    }


def covered(compared: Sequence[Compared]) -> tuple[int, int]:
    """How many measurements lie in their interval, of those that have one."""
    with_interval = [one for one in compared if math.isfinite(one.high - one.low)]
    inside = sum(one.low <= one.loss <= one.high for one in with_interval)
    return inside, len(with_interval)
