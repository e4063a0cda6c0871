"""Loss against model size: which points, which curves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from components.artifacts.metrics_table import load
from components.report.config import Config
from components.report.record import RunRecord, read
from components.report.step import DRAWINGS, draw


def curves(record: RunRecord, name: str) -> list[np.ndarray]:
    """The y of every drawn law."""
    figures, _ = draw(record, Config(), DRAWINGS)
    lines = [line for axes in figures[name].axes for line in axes.lines]
    return [y for line in lines if len(y := np.asarray(line.get_ydata())) == 80]


def test_zero_shot_and_failed_losses_are_not_drawn(workdir: Path) -> None:
    rows = load(workdir / "evaluate" / "metrics.csv")
    assert any(row.p == 0 and row.loss > 6 for row in rows)
    figures, _ = draw(read(workdir, Config()), Config(), DRAWINGS)
    for name in ("loss_by_size", "joint_law", "learning_curves", "frontier"):
        for axes in figures[name].axes:
            for line in axes.lines:
                if line.get_transform() == axes.transData:
                    assert max(line.get_ydata()) < 6, name
    for axes in figures["loss_by_size"].axes:
        points = [line for line in axes.lines if line.get_marker() == "o"]
        hollow = [p for p in points if p.get_markerfacecolor() == "white"]
        # Four weights of each task, one of them failed at 12k; then the held-out ones.
        assert (len(points), len(hollow)) == (4 * 4 - 1 + 4 + 5, 4 + 5)


def test_curves_rise_and_the_reducible_part_falls(chrf_run: Path) -> None:
    record = read(chrf_run, Config())
    rising, falling = curves(record, "loss_by_size"), curves(record, "reducible_loss")
    assert rising and all((np.diff(y) > 0).all() and y[-1] < 100 for y in rising)
    assert falling and all((np.diff(y) < 0).all() and y[-1] > 0 for y in falling)


def test_a_law_without_an_irreducible_part_is_drawn_too(chrf_run: Path) -> None:
    record = read(chrf_run, Config())
    laws = tuple(
        dataclasses.replace(law, parameters=law.parameters | {"irreducible_loss": 0.0})
        for law in record.laws
    )
    falling = curves(dataclasses.replace(record, laws=laws), "reducible_loss")
    assert falling and all((np.diff(y) < 0).all() for y in falling)
