"""The last lines of a run: predicted against measured, where the fit never looked."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

# Which law speaks first: the joint one knows the mixtures it was fitted on and so
# predicts larger sizes ([M] eq. 7), the approximate one predicts new mixtures (eq. 11).
_PREFERRED = {
    "size": ("joint", "approximate", "shared"),
    "mixture": ("approximate", "joint", "shared"),
}
_TITLE = {
    "size": "sizes that the fit has never seen",
    "mixture": "mixtures that the fit has never seen",
}

Row = Mapping[str, str]


def compose(workdir: Path) -> str:
    """The lines to print when a run is done.

    Args:
      workdir: Folder with the artifacts of `fit` and `report`.

    Returns:
      Text that ends with a newline: one line a held-out measurement, the errors in
      percent, and where the report is.
    """
    rows = _read(workdir / "fit" / "held_out.csv")
    lines: list[str] = []
    for kind, title in _TITLE.items():
        chosen = choose(rows, kind)
        if chosen:
            lines += ["", f"{title}:", *_table(chosen), _summary(chosen)]
    if not lines:
        lines = ["", "nothing was held out (fit.held_out), so nothing is compared"]
    lines += ["", f"report: {workdir / 'report' / 'index.html'}"]
    return "\n".join(lines) + "\n"


def choose(rows: Sequence[Row], kind: str) -> list[Row]:
    """One row a held-out measurement: that of the law which speaks first."""
    chosen: dict[tuple[str, str, str], Row] = {}
    for law in _PREFERRED[kind]:
        for row in rows:
            if row["kind"] == kind and row["law"] == law and row["error_percent"]:
                key = (row["trial"], row["task"], row["test_set"])
                chosen.setdefault(key, row)
    return [row for row in rows if row in chosen.values()]


def _table(rows: Sequence[Row]) -> list[str]:
    names = [f"{row['trial']} {row['task']} {row['test_set']}" for row in rows]
    width = max(map(len, names))
    head = f"  {'':<{width}}  measured  predicted       95 % interval    error  law"
    lines = [head]
    for name, row in zip(names, rows, strict=True):
        interval = f"{_number(row['low'])} to {_number(row['high'])}"
        lines.append(
            f"  {name:<{width}}  {_number(row['loss']):>8}  "
            f"{_number(row['predicted']):>9}  {interval:>18}  "
            f"{float(row['error_percent']):>+6.2f}%  {row['law']}"
        )
    return lines


def _summary(rows: Sequence[Row]) -> str:
    errors = [abs(float(row["error_percent"])) for row in rows]
    inside = sum(_is_inside(row) for row in rows)
    return (
        f"  error: median {statistics.median(errors):.2f} %, "
        f"worst {max(errors):.2f} %; "
        f"{inside} of {len(rows)} measured losses lie in their interval"
    )


def _is_inside(row: Row) -> bool:
    if not row["low"] or not row["high"]:
        return False
    return float(row["low"]) <= float(row["loss"]) <= float(row["high"])


def _number(text: str) -> str:
    return f"{float(text):.4f}" if text else "?"


def _read(path: Path) -> list[Row]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
