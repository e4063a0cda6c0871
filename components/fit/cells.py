"""Cells of people's tables as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from models.errors import UserError

NUMBERS = ("n", "p", "n_enc", "n_dec", "step", "tokens_seen")
# What stands for "no value", in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "#n/a"})
_SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}


def is_missing(cell: object) -> bool:
    """Whether a cell holds no value."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip().lower() in MISSING


def parse_number(cell: object) -> float:
    """A cell as a finite number.

    >>> [parse_number(cell) for cell in ("18.9M", "30 %", "1_000", 7)]
    [18900000.0, 0.3, 1000.0, 7.0]

    Raises:
      ValueError: It is none.
    """
    if not isinstance(cell, str):
        value = float(cell)  # type: ignore[arg-type]
    else:
        text = cell.strip().replace("\N{NO-BREAK SPACE}", "").replace(" ", "")
        factor = 0.01 if text.endswith("%") else _SUFFIXES.get(text[-1:].lower(), 1.0)
        value = float(text[:-1] if factor != 1.0 else text) * factor
        value = round(value, 12) if factor == 0.01 else value
    if not math.isfinite(value):
        raise ValueError(f"{cell!r} is not a finite number")
    return value


class Line(dict):
    """One row: column -> text or number, and where it stands."""

    def __init__(self, where: str, cells: Mapping[str, object]):
        super().__init__(cells)
        self.where = where


def number(line: Line, name: str) -> float | None:
    """A cell as a number; None where it is empty, NA or not finite."""
    cell = line[name]
    if is_missing(cell):
        return None
    try:
        return parse_number(cell)
    except (TypeError, ValueError):
        if str(cell).strip().lower() in ("inf", "-inf", "infinity"):
            return None  # a run that diverged
        raise UserError(
            f"{line.where}, column {name}: {cell!r}; expected a number"
        ) from None


def expect(
    line: Line, name: str, holds: Callable[[float], bool], expected: str
) -> None:
    """Raises ``UserError`` unless a cell is filled and its number holds."""
    if line[name] is None:
        raise UserError(f"{line.where}, column {name}: empty; expected {expected}")
    if not holds(line[name]):
        raise UserError(
            f"{line.where}, column {name}: {line[name]:g}; expected {expected}"
        )
