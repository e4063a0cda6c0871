"""``report`` on a simulated run: the real fit and recommendation, the whole page."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import statistics
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from components import report
from components.report import step
from components.report.config import Config
from models.errors import UserError
from tests.components.report.simulated_run import (
    FAILED,
    REASON,
    SIZES,
    fitted,
    simulate,
)

# Nothing was translated, the text has no data card, and no law is bivariate.
ABSENT = {"quality", "data_card", "shapes", "encoder_share"}
FIGURES = set(step.DRAWINGS) - ABSENT


class Page(HTMLParser):
    """Collects what a browser would load, and whether tags are closed."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                self.targets.append(value)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th", "p", "li", "h1", "h2", "div"):
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.fixture(name="reported", scope="module")
def _reported(workdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run, with its page."""
    folder = tmp_path_factory.mktemp("reported") / "small"
    shutil.copytree(workdir, folder)
    report.run(Config(dots_per_inch=60), workdir=folder, output=folder / "report")
    return folder


def page_of(folder: Path) -> Page:
    return Page((folder / "report" / "index.html").read_text(encoding="utf-8"))


def test_every_figure_is_there_and_readable(reported: Path) -> None:
    folder = reported / "report" / "figures"
    assert {path.stem for path in folder.iterdir()} == FIGURES
    for name in FIGURES:
        image = (folder / f"{name}.png").read_bytes()
        assert image.startswith(b"\x89PNG") and len(image) > 5000
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 50


def test_the_page_is_whole_and_asks_nobody(reported: Path) -> None:
    page = page_of(reported)
    assert page.open == []
    assert page.targets and all(target.startswith("#") for target in page.targets)
    assert len(page.ids) == len(set(page.ids))
    assert {target[1:] for target in page.targets} <= set(page.ids)
    text = (reported / "report" / "index.html").read_text(encoding="utf-8")
    assert text.count("<svg") == len(FIGURES)
    assert not re.search(r"@import|url\((?!#)", text)
    assert "<script" not in text


def test_the_summary_equals_what_the_files_say(reported: Path) -> None:
    summary = json.loads((reported / "report" / "summary.json").read_text())
    laws = json.loads((reported / "fit" / "laws.json").read_text())["laws"]
    for kind in ("joint", "approximate"):
        expected = {
            law["task"]: law["statistics"]["r2"] for law in laws if law["kind"] == kind
        }
        assert summary["r2"][kind] == expected and len(expected) == 2
    with open(reported / "fit" / "held_out.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    for kind, law in (("size", "joint"), ("mixture", "approximate")):
        errors = [
            100 * abs(float(line["predicted"]) / float(line["loss"]) - 1)
            for line in lines
            if (line["kind"], line["law"]) == (kind, law)
        ]
        found = summary["held_out"][kind]
        assert found["median_error_percent"] == pytest.approx(
            statistics.median(errors), rel=1e-5
        )
        assert found["max_error_percent"] == pytest.approx(max(errors), rel=1e-5)
        assert found["n_points"] == len(errors)
    assert summary["held_out"]["size"]["n_points"] == 8
    assert summary["held_out"]["mixture"]["n_points"] == 10
    assert summary["trials"] == {"done": 29, "failed": 1}
    advice = json.loads((reported / "recommend" / "recommendation.json").read_text())
    assert summary["recommendation"] == advice
    for verb in ("evaluate", "fit", "recommend"):
        made = json.loads((reported / verb / "manifest.json").read_text())
        assert summary["seconds"][verb] == made["seconds"]


def test_the_page_says_what_failed_and_what_did_not_converge(reported: Path) -> None:
    page = page_of(reported)
    assert f"{FAILED} failed: {REASON}" in page.text
    assert page.text.count(REASON) == 2
    assert "learning curves have not converged" in page.text
    assert "en-xx_64k_p0.30_s0 en-de +" in page.text
    assert "29 models of 5 sizes" in page.text
    assert "The recommendation extrapolates: 270k is 10 times" in page.text
    assert "rejected: length ratio 12" in page.text
    assert "pairs read 1 240" in page.text
    assert "The fit has not seen 10 of them." in page.text
    assert "18 of 18 measured losses lie in their 95 % interval" in page.text
    assert "Persistence repeats the value of the next smaller size" in page.text


def test_a_report_is_made_once_and_again_when_its_input_changes(
    workdir: Path, tmp_path: Path
) -> None:
    shutil.copytree(workdir, tmp_path / "run", ignore=shutil.ignore_patterns("fit"))
    folder = tmp_path / "run"
    shutil.rmtree(folder / "recommend")
    first = report.run(Config(), workdir=folder, output=folder / "report")
    page = folder / "report" / "index.html"
    content, moment = page.read_bytes(), page.stat().st_mtime_ns
    assert report.run(Config(), workdir=folder, output=folder / "report") == first
    assert page.stat().st_mtime_ns == moment
    shutil.rmtree(folder / "report")
    report.run(Config(), workdir=folder, output=folder / "report")
    assert page.read_bytes() == content
    add_counts = folder / "ingest" / "counts.json"
    add_counts.write_text(add_counts.read_text().replace("1240", "1241"))
    report.run(Config(), workdir=folder, output=folder / "report")
    assert "pairs read 1 241" in page_of(folder).text


def test_without_laws_the_page_says_so(workdir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(workdir / "evaluate", folder / "evaluate")
    report.run(Config(title="A & B"), workdir=folder, output=folder / "report")
    page = page_of(folder)
    assert "There is no law of these runs yet" in page.text
    assert "There are no laws yet: run the step fit." in page.text
    assert "Nothing was held out" in page.text
    assert "Joint law: There is no joint law." in page.text
    assert page.text.startswith("A & B: scaling laws")
    assert f"{FAILED} failed: no final loss in the metrics table" in page.text
    figures = {path.stem for path in (folder / "report" / "figures").iterdir()}
    assert figures == {"learning_curves", "convergence"}
    summary = json.loads((folder / "report" / "summary.json").read_text())
    assert summary["r2"] == {"joint": {}, "approximate": {}}
    assert summary["held_out"] == {"size": None, "mixture": None}
    assert summary["recommendation"] is None


def test_one_task_has_laws_but_no_trade_off(tmp_path: Path) -> None:
    simulate(tmp_path, [{"en-de": 1.0}], list(SIZES))
    (tmp_path / "evaluate" / "irreducible.json").unlink()
    fitted(tmp_path, (), ())
    made = report.run(
        Config(dots_per_inch=36), workdir=tmp_path, output=tmp_path / "report"
    )
    missing = {"held_out", "coefficients", "effective_fraction", "frontier"}
    missing |= {"irreducible_loss", "joint_law"}
    assert set(made.counts["missing"]) == missing | ABSENT
    page = page_of(tmp_path)
    assert "With one task there are no weights to recommend." in page.text
    assert "Frontier: It needs two tasks" in page.text
    assert "The true entropy of these data is not known" in page.text
    assert "5 models of 5 sizes" in page.text


def test_mistakes_are_told(workdir: Path, tmp_path: Path) -> None:
    def make(config: Config, folder: Path) -> None:
        report.run(config, workdir=folder, output=tmp_path / "report")

    with pytest.raises(UserError, match="no such folder"):
        make(Config(), tmp_path / "none")
    with pytest.raises(UserError, match="no artifact of a run"):
        make(Config(), tmp_path)
    with pytest.raises(UserError, match="newstest.*not measured.*in_domain"):
        make(Config(test_set="newstest"), workdir)


def test_the_page_speaks_of_the_metric(chrf_run: Path, tmp_path: Path) -> None:
    report.run(Config(dots_per_inch=40), workdir=chrf_run, output=tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())
    assert "chrF rises: the laws are of its distance to 100, L = 100 − chrF." in text
    assert "upper right is better" in text and "lower left" not in text
    assert re.search(r"Predicted chrF values: en-de \d\d\.\d+, en-zh \d\d\.\d+\.", text)
    assert text.count("nats per target token") == 1  # what losses are, in the footer
    assert "measured losses" not in text and "Test chrF against model size" in text
