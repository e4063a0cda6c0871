"""Durations as people say them."""

from __future__ import annotations

_DAY = 86_400
_YEAR = 365.25 * _DAY


def duration(seconds: float) -> str:
    """``0.8 s``, ``42 s``, ``3 min 05 s``, ``2 h 10 min``, ``12 days``, ``3 years``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 2 * _DAY:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole < 2 * _YEAR:
        return f"{whole / _DAY:.0f} days"
    return f"{whole / _YEAR:,.0f} years"
