"""The work of ``report``: read, draw, compose."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from components.artifacts import manifest
from components.artifacts.manifest import Manifest, write_atomically
from components.report import comparison, page, samples, summary
from components.report.coefficient_figures import (
    draw_coefficients,
    draw_irreducible_loss,
)
from components.report.comparison import Series
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

Shown = TypeVar("Shown")
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


COMPARED: Mapping[str, Callable[[Sequence[Series], Config], Figure]] = {
    "losses": comparison.draw_all_losses,
    "capacity": comparison.draw_capacity,
    "coefficients": comparison.draw_coefficients,
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


def make_comparison(
    config: Config, *, folders: Sequence[Path], output: Path
) -> Manifest:
    """See `components.report.compare`."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; expected the folder of a run")
    read_from = {
        f"{folder}: {name}": path
        for folder in folders
        for name, path in inputs(folder).items()
    }
    return manifest.complete(
        "report",
        output,
        config=config,
        inputs=read_from,
        make=lambda folder: _make_comparison(config, folders, folder),
    )


def draw(
    shown: Shown,
    config: Config,
    drawings: Mapping[str, Callable[[Shown, Config], Figure]],
) -> tuple[dict[str, Figure], dict[str, str]]:
    """Every figure by name, and why those that are missing cannot be drawn."""
    figures, absent = {}, {}
    with rc_context(RC):
        for name, draw_one in drawings.items():
            try:
                figures[name] = draw_one(shown, config)
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
    figures, absent = draw(record, config, DRAWINGS)
    inlined = _save_all(figures, folder, config)
    translated = samples.read(workdir, record.rows, record.test_set)
    text = page.compose(record, config, inlined, absent, translated)
    _write(folder, text, summary.to_json(record, config))
    for name, reason in absent.items():
        log.info("report: no figure %s: %s", name, reason)
    return {"figures": len(figures), "missing": list(absent)}


def _make_comparison(
    config: Config, folders: Sequence[Path], folder: Path
) -> Mapping[str, Any]:
    series = comparison.read_series(folders, config)
    found = comparison.compare(series)
    figures, absent = draw(series, config, COMPARED)
    text = page.render(
        comparison.TEMPLATE,
        title=config.title or "Comparison",
        config=config,
        series=series,
        comparisons=found,
        figures=_save_all(figures, folder, config),
    )
    _write(folder, text, comparison.to_json(series, found))
    return {"figures": len(figures), "missing": list(absent)}


def _save_all(
    figures: Mapping[str, Figure], folder: Path, config: Config
) -> dict[str, page.Inline]:
    """Writes the figures as files, and returns them for the page."""
    places = folder / FIGURES
    places.mkdir()
    return {
        name: page.inline(save(figure, places, name, config.dots_per_inch), name)
        for name, figure in figures.items()
    }


def _write(folder: Path, text: str, numbers: Mapping[str, Any]) -> None:
    write_atomically(folder / PAGE, text)
    record = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / SUMMARY, record + "\n")
