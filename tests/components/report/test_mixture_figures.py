"""Effective fractions and the frontier with more than two tasks."""

from __future__ import annotations

from pathlib import Path

from components.report.config import Config
from components.report.record import read
from components.report.step import DRAWINGS, draw
from tests.components.report.simulated_run import TRUTH, fitted, simulate


def test_three_tasks_have_a_panel_each(tmp_path: Path) -> None:
    weights = [
        (0.2, 0.3, 0.5), (0.5, 0.2, 0.3), (0.3, 0.5, 0.2), (0.6, 0.3, 0.1),
        (0.1, 0.6, 0.3), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0),
    ]  # fmt: skip
    mixtures = [dict(zip(TRUTH, one, strict=True)) for one in weights]
    simulate(tmp_path, mixtures, ["2k", "5k", "12k", "27k"])
    fitted(tmp_path, ("27k",), (), choose_sharing=False)
    record = read(tmp_path, Config())
    figures, _ = draw(record, Config(), DRAWINGS)
    assert record.tasks == ("en-de", "en-fr", "en-it")
    for name in ("loss_by_size", "frontier", "convergence"):
        shown = [a for a in figures[name].axes if a.get_visible()]
        assert len(shown) == 3, name
    crosses = [
        line for line in figures["frontier"].axes[0].lines if line.get_marker() == "x"
    ]
    assert len(crosses) == 4 * 5  # mixtures with a positive weight of both tasks
