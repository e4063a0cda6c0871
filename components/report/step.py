"""The work of ``report``: read, draw, compose."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from components.artifacts import manifest
from components.artifacts.manifest import Manifest, write_atomically
from components.report import page, samples, summary
from components.report.coefficient_figures import (
    draw_coefficients,
    draw_irreducible_loss,
)
from components.report.config import Config
from components.report.data_card import draw_data_card
from components.report.held_out_figure import draw_held_out
from components.report.loss_figures import (
    draw_joint_law,
    draw_loss_by_size,
    draw_reducible_loss,
)
from components.report.mixture_figures import draw_effective_fraction, draw_frontier
from components.report.plotting import RC, NotDrawn
from components.report.quality_figure import draw_quality
from components.report.record import RunRecord, inputs, read
from components.report.shape_figures import draw_encoder_share, draw_shapes
from components.report.training_figures import draw_convergence, draw_learning_curves
from models.errors import UserError

log = logging.getLogger(__name__)

PAGE = "index.html"
SUMMARY = "summary.json"
FIGURES = "figures"

# Every figure, in the order of the page: its name -> what draws it. Its title and
# caption are in the template.
DRAWINGS: Mapping[str, Callable[[RunRecord, Config], Figure]] = {
    "held_out": draw_held_out,
    "loss_by_size": draw_loss_by_size,
    "reducible_loss": draw_reducible_loss,
    "coefficients": draw_coefficients,
    "joint_law": draw_joint_law,
    "effective_fraction": draw_effective_fraction,
    "frontier": draw_frontier,
    "shapes": draw_shapes,
    "encoder_share": draw_encoder_share,
    "learning_curves": draw_learning_curves,
    "convergence": draw_convergence,
    "quality": draw_quality,
    "irreducible_loss": draw_irreducible_loss,
    "data_card": draw_data_card,
}


def make_report(config: Config, *, workdir: Path, output: Path) -> Manifest:
    """See `components.report.run`."""
    if not workdir.is_dir():
        raise UserError(f"{workdir}: no such folder; expected the folder of a run")
    return manifest.complete(
        "report",
        output,
        config=config,
        inputs=inputs(workdir),
        make=lambda folder: _make(config, workdir, folder),
    )


def draw(record: RunRecord, config: Config) -> tuple[dict[str, Figure], dict[str, str]]:
    """Every figure by name, and why those that are missing cannot be drawn."""
    figures, absent = {}, {}
    with rc_context(RC):
        for name, draw_one in DRAWINGS.items():
            try:
                figures[name] = draw_one(record, config)
            except NotDrawn as reason:
                absent[name] = str(reason)
    return figures, absent


def save(figure: Figure, folder: Path, name: str, dots_per_inch: int) -> str:
    """Writes a figure as PNG and SVG and returns the SVG.

    The same run gives the same bytes: no date, ids from the figure's name.
    """
    figure.set_dpi(dots_per_inch)
    buffer = io.StringIO()
    with rc_context({**RC, "svg.hashsalt": name}):
        # `Figure.savefig` draws twice, once only to ask for the size.
        FigureCanvasAgg(figure).print_png(folder / f"{name}.png")
        # The layout is final now; solving it again for the SVG takes as long.
        figure.set_layout_engine("none")
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    (folder / f"{name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
    return buffer.getvalue()


def _make(config: Config, workdir: Path, folder: Path) -> Mapping[str, Any]:
    record = read(workdir, config)
    figures, absent = draw(record, config)
    (folder / FIGURES).mkdir()
    inlined = {
        name: page.inline(
            save(figure, folder / FIGURES, name, config.dots_per_inch), name
        )
        for name, figure in figures.items()
    }
    translated = samples.read(workdir, record.rows, record.test_set)
    text = page.compose(record, config, inlined, absent, translated)
    write_atomically(folder / PAGE, text)
    numbers = summary.to_json(record, config)
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / SUMMARY, text + "\n")
    for name, reason in absent.items():
        log.info("report: no figure %s: %s", name, reason)
    return {"figures": len(figures), "missing": list(absent)}
