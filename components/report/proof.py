"""The proof: what the fit has never seen, predicted and measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from components.fit.held_out import Compared, chosen

KINDS = ("size", "mixture")


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
