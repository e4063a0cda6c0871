"""The page as a template: what is text stays text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from components.report import page
from components.report.config import Config
from components.report.record import read
from components.report.samples import Sample, TaskSamples
from components.report.step import DRAWINGS

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg>
<svg width="720pt" height="100pt" viewBox="0 0 720 100"><metadata>x</metadata>
<defs><path id="a" style="fill: #ffffff"/></defs><use href="#a"/></svg>
"""


def test_a_figure_has_ids_of_its_own_and_no_size() -> None:
    found = page.inline(SVG, "frontier")
    assert found.svg.startswith('<svg width="100%"') and "metadata" not in found.svg
    assert 'id="frontier-a"' in found.svg and 'href="#frontier-a"' in found.svg
    assert "fill: var(--plot)" in found.svg
    assert (found.pixels, found.wide) == (1022, True)


def test_every_figure_has_its_place_in_the_template(workdir: Path) -> None:
    record = read(workdir, Config())
    figures = {name: page.inline(SVG, name) for name in DRAWINGS}
    text = page.compose(record, Config(), figures, {})
    places = [text.index(f'<h2 id="{name}"') for name in DRAWINGS]
    assert places == sorted(places) and text.count("<svg") == len(DRAWINGS)
    assert text.startswith("<!doctype html>")


def test_what_people_wrote_is_escaped(workdir: Path) -> None:
    record = dataclasses.replace(
        read(workdir, Config()), title="<script>", fit_notes=("5 < 6 & <b>7</b>",)
    )
    model = dataclasses.replace(record.rows[0], bleu=15.04)
    sentence = Sample("a <b>bold</b> source", "r & s", ("<i>h</i>",))
    translated = TaskSamples("en-de", "news", (model,), (sentence,))
    text = page.compose(record, Config(), {}, {"frontier": "a < b"}, [translated])
    for shown in (
        "<h1>&lt;script&gt;</h1>",
        "5 &lt; 6 &amp; &lt;b&gt;7&lt;/b&gt;",
        "a &lt;b&gt;bold&lt;/b&gt; source",
        "r &amp; s",
        "&lt;i&gt;h&lt;/i&gt;",
        "BLEU 15.0",
        "Frontier: a &lt; b",
    ):
        assert shown in text, shown
    assert "<script" not in text and "<b>bold" not in text
