"""The last lines of a run: predicted against measured, where the fit never looked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from components.fit import held_out
from components.fit.held_out import Compared, Errors

_TITLE = {
    "size": "sizes that the fit has never seen",
    "mixture": "mixtures that the fit has never seen",
}


def compose(workdir: Path) -> str:
    """The lines to print when a run is done.

    Args:
      workdir: Folder with the artifacts of `fit` and `report`.

    Returns:
      Text that ends with a newline: one line a held-out measurement, the errors in
      percent, and where the report is.
    """
    compared = held_out.load(workdir / "fit" / held_out.FILE_NAME)
    lines: list[str] = []
    for kind, title in _TITLE.items():
        chosen = held_out.chosen(compared, kind)
        errors = held_out.summarise(chosen)
        if errors is not None:
            lines += ["", f"{title}:", *_table(chosen), _summary(errors)]
    if not lines:
        lines = ["", "nothing was held out (fit.held_out), so nothing is compared"]
    lines += ["", f"report: {workdir / 'report' / 'index.html'}"]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Compared]) -> list[str]:
    names = [f"{row.trial} {row.task} {row.test_set}" for row in rows]
    width = max(map(len, names))
    head = f"  {'':<{width}}  measured  predicted       95 % interval    error  law"
    lines = [head]
    for name, row in zip(names, rows, strict=True):
        interval = f"{_number(row.low)} to {_number(row.high)}"
        lines.append(
            f"  {name:<{width}}  {_number(row.loss):>8}  "
            f"{_number(row.predicted):>9}  {interval:>18}  "
            f"{row.error_percent:>+6.2f}%  {row.law}"
        )
    return lines


def _summary(errors: Errors) -> str:
    return (
        f"  error: median {errors.median_error_percent:.2f} %, "
        f"worst {errors.max_error_percent:.2f} %; "
        f"{errors.inside} of {errors.n_points} measured values lie in their interval"
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "?"
