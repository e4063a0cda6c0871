"""Numbers and lists as people write them; the page uses these as filters too."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SCALES = (("B", 1e9), ("M", 1e6), ("k", 1e3))


def count_text(n: float) -> str:
    """A number of parameters or sentences, two or three digits: ``16.4k``, ``127M``."""
    for unit, scale in _SCALES:
        if n >= 0.9995 * scale:
            return f"{n / scale:.3g}{unit}"
    return f"{n:.3g}"


def grouped(value: float | None) -> str:
    """A whole number with its thousands apart; a dash where there is none."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def number(value: float | None, digits: int = 4) -> str:
    """A loss; a dash where it is not known."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f}"


def with_error(value: float, error: float, digits: int = 4) -> str:
    """An estimate and its standard error: ``0.3031 ± 0.0028``."""
    if not math.isfinite(error):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {error:.2g}"


def percent(share: float | None) -> str:
    """A share with as many digits as it takes not to say 100 %: ``99.98 %``."""
    if share is None:
        return "–"
    for digits in (1, 2, 3, 4, 5):
        text = f"{100 * share:.{digits}f}"
        if float(text) < 100:
            break
    return f"{text} %"


def span(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval: ``0.52 to 0.54``."""
    ends = (low, high)
    if any(end is None or not math.isfinite(end) for end in ends):
        return "no interval"
    return f"{low:.{digits}f} to {high:.{digits}f}"


def many(count: int, noun: str) -> str:
    """``1 size``, ``5 sizes``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def duration(seconds: float) -> str:
    """``7.3 s``, ``12 min 5 s``, ``3 h 20 min``."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
