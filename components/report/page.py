"""The page: one file, no request to anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from components.report import narrative, tables
from components.report.config import Config
from components.report.drawing import Drawing
from components.report.record import RunRecord
from components.report.stylesheet import CSS
from components.version import VERSION

_WIDE = 520.0  # points; narrower figures shrink to a phone's width
_LEGEND = (
    "[M] Fernandes et al., <i>Scaling Laws for Multilingual Neural Machine "
    "Translation</i>, ICML 2023. [N] Ghorbani et al., <i>Scaling Laws for Neural "
    "Machine Translation</i>, 2021. Losses are nats per target token; <i>N</i> counts "
    "non-embedding parameters; p is a task's share of training examples."
)


def compose(
    record: RunRecord,
    config: Config,
    drawings: Sequence[tuple[Drawing, str]],
    samples: str = "",
) -> str:
    """The page.

    Args:
      record: The run.
      config: What to show.
      drawings: The figures in order, each with its SVG (empty without a figure).
      samples: Section with translations, HTML.
    """
    sections = [_figure(k, *pair) for k, pair in enumerate(drawings, start=1)]
    first = sections[0] + _details(
        "Every held-out measurement", tables.held_out_table(record)
    )
    body = [_opening(record, config, [d for d, _ in drawings]), first, *sections[1:]]
    body += [samples, _back_matter(record)]
    return (
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
        "<meta name=viewport content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(record.title)}: scaling laws</title>\n<style>{CSS}</style>\n"
        "</head>\n<body>\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


def _opening(record: RunRecord, config: Config, drawings: Sequence[Drawing]) -> str:
    tasks = escape(", ".join(record.tasks)) or "no task"
    tiles = "".join(
        f"<div class=tile><b>{value}</b><span>{what}</span><small>{note}</small></div>"
        for value, what, note in narrative.headline(record)
    )
    words = "".join(f"<p>{text}</p>" for text in narrative.sentences(record))
    links = "".join(
        f"<a href='#{d.name}'>{k}&nbsp;{escape(_short(d))}</a> "
        for k, d in enumerate(drawings, start=1)
    )
    links += "<a href='#data'>data</a> <a href='#provenance'>provenance</a>"
    test_set = f" · test set {escape(record.test_set)}" if record.test_set else ""
    return (
        f"<header><h1>{escape(record.title)}</h1>"
        f"<p class=lead>Scaling laws of {tasks}{test_set}</p></header>"
        f"<section class=summary>{words}</section>"
        f"<div class=tiles>{tiles}</div>"
        f"{_warnings(narrative.warnings(record, config))}<nav>{links}</nav>"
    )


def _short(drawing: Drawing) -> str:
    return drawing.name.replace("_", " ")


def _warnings(found: Sequence[str]) -> str:
    if not found:
        return "<p class=fine>No warnings: no trial failed, every curve converged.</p>"
    items = "".join(f"<li>{text}</li>" for text in found)
    return (
        f"<section class=warnings role=note><b>Warnings</b><ul>{items}</ul></section>"
    )


def _figure(k: int, drawing: Drawing, svg: str) -> str:
    source = (
        f" <span class=source>{escape(drawing.source)}</span>" if drawing.source else ""
    )
    head = f"<h2 id='{drawing.name}'>{k}. {escape(drawing.title)}{source}</h2>"
    if drawing.figure is None:
        text = drawing.absence[:1].upper() + drawing.absence[1:]
        return f"<section>{head}<p class=absent>{text.rstrip('.')}.</p></section>"
    points = drawing.figure.get_figwidth() * 72
    wide = " wide" if points > _WIDE else ""
    svg = svg.replace("<svg", f"<svg style='max-width:{points * 1.42:.0f}px'", 1)
    return (
        f"<section>{head}<figure><div class='plot{wide}'>{svg}</div>"
        f"<figcaption>{drawing.caption}</figcaption></figure></section>"
    )


def _details(title: str, content: str) -> str:
    if not content:
        return ""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _back_matter(record: RunRecord) -> str:
    singles = [law for law in record.laws if len(law.weightings) == 1]
    remarks = "".join(f"<li>{text}</li>" for text in narrative.law_warnings(singles))
    remarks = f"<ul class=fine>{remarks}</ul>" if remarks else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in record.fit_notes)
    notes = (
        f"<h3>Left out and corrected</h3><ul class=fine>{notes}</ul>" if notes else ""
    )
    advice = tables.recommendation_table(record)
    advice = f"<h2 id=weights>Recommended weights</h2>{advice}" if advice else ""
    return (
        f"{advice}"
        f"<h2 id=laws>Fitted laws</h2>{tables.law_table(record)}"
        f"{_details('Remarks on the fits of single weightings', remarks)}{notes}"
        f"{tables.backtest_table(record)}"
        f"<h2 id=data>Data</h2>{tables.data_card(record)}"
        f"<h2 id=failed>Failed trials</h2>{tables.failed_table(record)}"
        f"<h2 id=timings>Timings</h2>{tables.timing_table(record)}"
        f"<h2 id=provenance>Provenance</h2>{tables.provenance_table(record)}"
        f"<footer><p>{_LEGEND}</p><p>Made by polyscale {VERSION}. Every figure lies "
        "in <code>figures/</code> as PNG and SVG, the numbers in "
        "<code>summary.json</code>.</p></footer>"
    )
