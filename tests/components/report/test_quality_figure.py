"""Quality against loss: one curve, or one for each original language."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context

from components.report.config import Config
from components.report.plotting import INK, RC, NotDrawn
from components.report.quality_figure import draw_quality
from components.report.record import RunRecord, read
from tests.components.report.simulated_run import CHRF_PER_NAT


def quality_panels(record: RunRecord) -> dict[str, list]:
    """Title of each panel of the quality figure -> the black curves in it."""
    with rc_context(RC):
        figure = draw_quality(record, Config())
    return {
        axes.get_title(loc="left"): [
            line for line in axes.get_lines() if line.get_color() == INK
        ]
        for axes in figure.axes
    }


def test_quality_is_drawn_against_loss(chrf_run: Path) -> None:
    record = read(chrf_run, Config())
    panels = quality_panels(record)
    assert list(panels) == ["en-de   in_domain", "en-zh   in_domain"]
    for title, (curve,) in panels.items():
        x, y = curve.get_xdata(), curve.get_ydata()
        # Linear, or a power that hardly bends over so few nats.
        assert np.polyfit(x, y, 1)[0] == pytest.approx(-CHRF_PER_NAT, rel=0.1)
        seen = [r.loss for r in record.rows if r.size != "708M" and r.p > 0]
        mine = [loss for loss in seen if x[0] - 1e-9 <= loss <= x[-1] + 1e-9]
        assert min(mine) == pytest.approx(x[0]) and max(mine) == pytest.approx(x[-1])
        held_out = [
            r.loss
            for r in record.rows
            if r.size == "708M" and r.p > 0 and r.task == title[:5]
        ]
        assert min(held_out) < x[0]


def test_halves_by_original_language_have_curves_of_their_own(chrf_run: Path) -> None:
    record = read(chrf_run, Config())
    rows = []
    for row in record.rows:
        for origin, shift in (("mixed", 0.0), ("source", -9.0), ("target", 9.0)):
            changed = {"test_set": "news", "origin": origin, "bleurt": None}
            rows.append(dataclasses.replace(row, chrf=row.chrf + shift, **changed))
    several = dataclasses.replace(record, rows=(*record.rows, *rows))
    panels = quality_panels(several)
    assert list(panels) == ["en-de   news", "en-zh   news"]
    for one, other in panels.values():
        gap = other.get_ydata() - one.get_ydata()
        np.testing.assert_allclose(gap, 18.0, atol=0.5)


def test_without_translations_there_is_no_quality_figure(chrf_run: Path) -> None:
    record = read(chrf_run, Config())
    rows = tuple(dataclasses.replace(row, chrf=None) for row in record.rows)
    losses = dataclasses.replace(record, rows=rows)
    with pytest.raises(NotDrawn, match="No test set was translated"):
        draw_quality(losses, Config())
