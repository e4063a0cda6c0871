"""The work of ``report``: read, draw, compose."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from components.artifacts import manifest
from components.artifacts.manifest import Manifest, write_atomically
from components.report import page, samples
from components.report.appearance import RC
from components.report.coefficient_figures import (
    draw_coefficients,
    draw_effective_fractions,
    draw_irreducible,
)
from components.report.config import Config
from components.report.data_card import draw_data_card
from components.report.drawing import Drawing, save
from components.report.frontier_figure import draw_frontier
from components.report.learning_figures import draw_convergence, draw_learning_curves
from components.report.loss_figures import (
    draw_joint_law,
    draw_loss_by_size,
    draw_reducible_loss,
)
from components.report.proof_figure import draw_proof
from components.report.quality_figure import draw_quality
from components.report.record import RunRecord, inputs, read
from components.report.summary import summarise
from models.errors import UserError

log = logging.getLogger(__name__)

PAGE = "index.html"
SUMMARY = "summary.json"
FIGURES = "figures"


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


def draw(record: RunRecord, config: Config) -> list[Drawing]:
    """Every figure, in the order of the page."""
    with rc_context(RC):
        quality = draw_quality(record)
        card = [draw_data_card(record.card)] if record.card else []
        return [
            draw_proof(record),
            draw_loss_by_size(record),
            draw_reducible_loss(record),
            draw_coefficients(record),
            draw_joint_law(record),
            draw_effective_fractions(record, config),
            draw_frontier(record),
            draw_learning_curves(record),
            draw_convergence(record, config),
            *([quality] if quality else []),
            draw_irreducible(record, config),
            *card,
        ]


def _make(config: Config, workdir: Path, folder: Path) -> Mapping[str, Any]:
    record = read(workdir, config)
    drawings = draw(record, config)
    figures = folder / FIGURES
    figures.mkdir()
    shown = [
        (d, save(d, figures, config.dots_per_inch) if d.figure is not None else "")
        for d in drawings
    ]
    section = samples.section(workdir, record.rows, record.test_set)
    write_atomically(folder / PAGE, page.compose(record, config, shown, section))
    text = json.dumps(summarise(record), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / SUMMARY, text + "\n")
    missing = [d.name for d in drawings if d.figure is None]
    for name in missing:
        log.info("report: no figure %s", name)
    return {"figures": len(drawings) - len(missing), "missing": missing}
