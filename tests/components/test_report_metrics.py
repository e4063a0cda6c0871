"""``recommend`` and ``report`` on a metric that rises."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from components import fit, recommend, report
from components.artifacts.metrics_table import MetricsRow, save
from components.fit.simulation import simulate_table
from components.report.appearance import INK
from components.report.config import Config
from components.report.record import read
from components.report.step import draw

CHRF_PER_NAT = 30.0
SIZES = ("19M", "64M", "127M", "191M", "708M")


@pytest.fixture(name="workdir", scope="module")
def _workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """chrF is 100 less 30 a nat, with noise of its own; 708M is held out."""
    folder = tmp_path_factory.mktemp("runs") / "chrf"
    rng, rows = np.random.default_rng(0), []
    names = {field.name for field in dataclasses.fields(MetricsRow)}
    for line in csv.DictReader(io.StringIO(simulate_table(2, noise=0.0))):
        if line["size"] not in SIZES:
            continue
        n, loss = int(line["n"]), float(line["loss"])
        cells = {key: value for key, value in line.items() if key in names}
        cells |= {"seed": 0, "p": float(line["p"]), "n": n, "loss": loss, "step": 100}
        cells |= {"n_enc": n // 2, "n_dec": n - n // 2, "n_embedding": 64}
        chrf = 100 - CHRF_PER_NAT * loss + 0.1 * rng.standard_normal()
        rows.append(MetricsRow(**cells, chrf=chrf, chrf_signature="simulated"))
    (folder / "evaluate").mkdir(parents=True)
    save(folder / "evaluate" / "metrics.csv", rows)
    held_out = fit.HeldOut(sizes=("708M",))
    config = fit.Config(metric="chrf", held_out=held_out, draws=20)
    fit.run(config, table=folder / "evaluate", output=folder / "fit")
    asked = recommend.Config(n=1e9, require=("en-zh>=48",), prefer={"en-de": 3})
    recommend.run(asked, laws=folder / "fit", output=folder / "recommend")
    report.run(Config(dots_per_inch=50), workdir=folder, output=folder / "report")
    return folder


def test_the_page_speaks_of_the_metric(workdir: Path) -> None:
    page = (workdir / "report" / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())
    assert "chrF rises: the laws are of its distance to 100, L = 100 − chrF." in text
    assert "upper right is better" in text and "lower left" not in text
    assert re.search(r"Predicted chrF values: en-de \d\d\.\d+, en-zh \d\d\.\d+\.", text)
    assert text.count("nats per target token") == 1  # what losses are, in the footer
    assert "measured losses" not in text and "Test chrF against model size" in text


def test_curves_rise_and_the_reducible_part_falls(workdir: Path) -> None:
    drawings = {d.name: d for d in draw(read(workdir, Config()), Config())}

    def curves(name: str) -> list[np.ndarray]:
        lines = [line for axes in drawings[name].figure.axes for line in axes.lines]
        return [y for line in lines if len(y := np.asarray(line.get_ydata())) == 80]

    rising, falling = curves("loss_by_size"), curves("reducible_loss")
    assert rising and all((np.diff(y) > 0).all() and y[-1] < 100 for y in rising)
    assert falling and all((np.diff(y) < 0).all() and y[-1] > 0 for y in falling)


def test_a_law_without_an_irreducible_part_is_drawn_too(workdir: Path) -> None:
    record = read(workdir, Config())
    laws = tuple(
        dataclasses.replace(law, parameters=law.parameters | {"irreducible_loss": 0.0})
        for law in record.laws
    )
    drawings = draw(dataclasses.replace(record, laws=laws), Config())
    figure = next(d.figure for d in drawings if d.name == "reducible_loss")
    for axes in figure.axes:
        lines = [line for line in axes.lines if len(line.get_ydata()) == 80]
        assert lines and all((np.diff(line.get_ydata()) < 0).all() for line in lines)


def test_the_recommendation_counts_upwards(workdir: Path) -> None:
    found = json.loads((workdir / "recommend" / "recommendation.json").read_text())
    losses, uniform = found["losses"], found["alternatives"][0]
    assert found["feasible"] and losses["en-zh"] >= 48 - 1e-4
    assert found["believed"] == pytest.approx(losses["en-de"])  # all of the preference
    assert found["value"] == pytest.approx(found["believed"] - found["optimism"])
    assert uniform["gain"] == pytest.approx(found["believed"] - uniform["objective"])
    assert uniform["gain"] > 0


def test_what_cannot_be_reached_is_said_with_the_nearest(workdir: Path) -> None:
    from components.recommend.decision import ask, trade_off_laws

    config = recommend.Config(n=1e9, require=("en-zh>=70",))
    found = ask(config, trade_off_laws(workdir / "fit"), 1e9)
    assert not found.feasible and "en-zh>=70 (nearest " in found.verdict
    nearest = float(re.search(r"nearest ([\d.]+)", found.verdict)[1])
    assert nearest == pytest.approx(found.losses["en-zh"], abs=1e-3) and nearest < 70


def quality_panels(record) -> dict[str, list]:
    """Title of each panel of the quality figure -> the black curves in it."""
    (drawing,) = [one for one in draw(record, Config()) if one.name == "quality"]
    return {
        axes.get_title(loc="left"): [
            line for line in axes.get_lines() if line.get_color() == INK
        ]
        for axes in drawing.figure.axes
    }


def test_quality_is_drawn_against_loss(workdir: Path) -> None:
    record = read(workdir, Config())
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


def test_halves_by_original_language_have_curves_of_their_own(workdir: Path) -> None:
    record = read(workdir, Config())
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


def test_without_translations_there_is_no_quality_figure(workdir: Path) -> None:
    record = read(workdir, Config())
    rows = tuple(dataclasses.replace(row, chrf=None) for row in record.rows)
    losses = dataclasses.replace(record, rows=rows)
    assert "quality" not in [one.name for one in draw(losses, Config())]
