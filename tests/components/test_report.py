"""``report`` on a simulated run: the real fit and recommendation, the whole page."""

from __future__ import annotations

import csv
import json
import re
import shutil
import statistics
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from components import fit, recommend, report
from components.artifacts import manifest
from components.artifacts.metrics_table import MetricsRow, load, save
from components.artifacts.trial import Trial, format_mixture
from components.report.config import Config
from components.report.record import read as read_record
from components.report.step import draw
from models.errors import UserError

SIZES = {"2k": 2016, "5k": 5144, "12k": 12296, "27k": 27008, "64k": 66304}
TRUTH = {"en-de": (0.30, 1.35, 1.62), "en-fr": (0.34, 1.1, 1.91), "en-it": (0.3, 1, 2)}
ZERO_SHOT = 6.3  # nats, above every trained task
FAILED = "en-xx_12k_p0.70_s0"
REASON = "the loss is not finite at step 430 <of 1500>"
FIGURES = (
    *("proof", "loss_by_size", "reducible_loss", "coefficients", "joint_law"),
    *("effective_fraction", "frontier", "learning_curves", "convergence"),
    "irreducible_loss",
)
Weights = Mapping[str, float]


def pairs(weights: Sequence[float]) -> list[Weights]:
    return [{"en-de": p, "en-fr": round(1 - p, 6)} for p in weights]


def trial_rows(trial: Trial, rng: np.random.Generator) -> list[MetricsRow]:
    """Learning curve and final loss; the rare tasks have not converged."""
    mixture, n = dict(trial.mixture), SIZES[trial.size]
    rows = []
    for task, p in mixture.items():
        alpha, beta, floor = TRUTH[task]
        f = p + 0.4 * p**0.8 * (1 - p) ** 1.2
        loss = beta * (f * n / 1e4) ** -alpha + floor if p else ZERO_SHOT
        loss += 0.003 * rng.standard_normal()
        steps = (90, 190, 270, 380, 530, 750, 1060, 1500)
        ends = [step for step in steps if trial.id != FAILED or step < 430]
        slow = 95.0 if p < 0.35 else 30.0
        common = {
            "trial": trial.id, "cohort": trial.cohort, "size": trial.size,
            "seed": trial.seed, "task": task, "p": p,
            "mixture": format_mixture(mixture), "test_set": "in_domain", "n": n,
            "n_enc": n // 2, "n_dec": n - n // 2, "n_embedding": 8192,
        }  # fmt: skip
        for step in ends:
            moved = loss + slow * ((step + 30.0) ** -1.05 - 1530.0**-1.05)
            rows.append(MetricsRow(**common, step=step, loss=moved, loss_kind="curve"))
        end, final = (1500, loss) if trial.id != FAILED else (430, None)
        rows.append(MetricsRow(**common, step=end, loss=final, loss_kind="final"))
    return rows


def simulate(folder: Path, mixtures: Sequence[Weights], sizes: Sequence[str]) -> None:
    """The artifacts of ``train`` and ``evaluate``, as far as a report reads them."""
    rng = np.random.default_rng(5)
    rows: list[MetricsRow] = []
    for mixture in mixtures:
        for size in sizes:
            trial = Trial("en-xx", size, tuple(mixture.items()))
            rows += trial_rows(trial, rng)
            failed = trial.id == FAILED
            record = {
                "status": "failed" if failed else "done",
                "reason": REASON if failed else None,
                "epochs": {task: 2.5 * p for task, p in mixture.items()},
            }
            (folder / "train" / trial.id).mkdir(parents=True)
            text = json.dumps(record)
            (folder / "train" / trial.id / "record.json").write_text(text)

    def make(directory: Path) -> dict[str, int]:
        save(directory / "metrics.csv", rows)
        truth = {t: {"in_domain": {"nats_per_token": TRUTH[t][2]}} for t in mixtures[0]}
        (directory / "irreducible.json").write_text(json.dumps(truth))
        return {"rows": len(rows)}

    manifest.complete("evaluate", folder / "evaluate", config={}, inputs={}, make=make)


def add_data(folder: Path) -> None:
    counts = {"read": 1240, "accepted": 1111, "train": 1011}
    counts |= {"rejected": {"duplicate": 117, "length_ratio": 12}}
    counts |= {"test": {"in_domain": 100}}
    (folder / "ingest").mkdir()
    (folder / "ingest" / "counts.json").write_text(json.dumps({"en-de": counts}))


def fitted(
    folder: Path,
    sizes: tuple[str, ...],
    mixtures: tuple[float, ...],
    choose_sharing: bool = True,
) -> None:
    held_out = fit.HeldOut(sizes=sizes, mixtures=mixtures)
    config = fit.Config(held_out=held_out, draws=50, choose_sharing=choose_sharing)
    fit.run(config, table=folder / "evaluate", output=folder / "fit")


@pytest.fixture(name="workdir", scope="module")
def _workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sizes and one held out; a held-out mixture, zero-shot runs, a failure."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    simulate(folder, pairs((0.0, 0.3, 0.4, 0.5, 0.7, 1.0)), list(SIZES))
    add_data(folder)
    fitted(folder, ("64k",), (0.4,))
    recommend.run(recommend.Config(), laws=folder / "fit", output=folder / "recommend")
    report.run(Config(dots_per_inch=60), workdir=folder, output=folder / "report")
    return folder


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
        if tag in ("td", "th", "p", "li", "h1", "h2"):
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def page_of(folder: Path) -> Page:
    return Page((folder / "report" / "index.html").read_text(encoding="utf-8"))


def test_every_figure_is_there_and_readable(workdir: Path) -> None:
    folder = workdir / "report" / "figures"
    assert {path.stem for path in folder.iterdir()} == set(FIGURES)
    for name in FIGURES:
        image = (folder / f"{name}.png").read_bytes()
        assert image.startswith(b"\x89PNG") and len(image) > 5000
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag.endswith("svg") and len(list(root.iter())) > 50


def test_the_page_is_whole_and_asks_nobody(workdir: Path) -> None:
    page = page_of(workdir)
    assert page.open == []
    assert page.targets and all(target.startswith("#") for target in page.targets)
    assert len(page.ids) == len(set(page.ids))
    assert {target[1:] for target in page.targets} <= set(page.ids)
    text = (workdir / "report" / "index.html").read_text(encoding="utf-8")
    assert text.count("<svg") == len(FIGURES)
    assert not re.search(r"@import|url\((?!#)", text)
    assert "<script" not in text


def test_the_summary_equals_what_the_files_say(workdir: Path) -> None:
    summary = json.loads((workdir / "report" / "summary.json").read_text())
    laws = json.loads((workdir / "fit" / "laws.json").read_text())["laws"]
    for kind in ("joint", "approximate"):
        expected = {
            law["task"]: law["statistics"]["r2"] for law in laws if law["kind"] == kind
        }
        assert summary["r2"][kind] == expected and len(expected) == 2
    with open(workdir / "fit" / "held_out.csv", newline="") as file:
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
    advice = json.loads((workdir / "recommend" / "recommendation.json").read_text())
    assert summary["recommendation"] == advice
    for verb in ("evaluate", "fit", "recommend"):
        made = json.loads((workdir / verb / "manifest.json").read_text())
        assert summary["seconds"][verb] == made["seconds"]


def test_zero_shot_and_failed_losses_are_not_drawn(workdir: Path) -> None:
    rows = load(workdir / "evaluate" / "metrics.csv")
    assert any(row.p == 0 and row.loss > 6 for row in rows)
    drawings = {d.name: d for d in draw(read_record(workdir, Config()), Config())}
    for name in ("loss_by_size", "joint_law", "learning_curves", "frontier"):
        for axes in drawings[name].figure.axes:
            for line in axes.lines:
                if line.get_transform() == axes.transData:
                    assert max(line.get_ydata()) < 6, name
    for axes in drawings["loss_by_size"].figure.axes:
        points = [line for line in axes.lines if line.get_marker() == "o"]
        hollow = [p for p in points if p.get_markerfacecolor() == "white"]
        # Four weights of each task, one of them failed at 12k; then the held-out ones.
        assert (len(points), len(hollow)) == (4 * 4 - 1 + 4 + 5, 4 + 5)


def test_the_page_says_what_failed_and_what_did_not_converge(workdir: Path) -> None:
    page = page_of(workdir)
    assert f"{FAILED} failed: {REASON}" in page.text
    assert page.text.count(REASON) == 2
    assert "learning curves had not converged" in page.text
    assert "en-xx_64k_p0.30_s0 en-de +" in page.text
    assert "29 models of 5 sizes" in page.text
    assert "The recommendation extrapolates: 270k is 10 times" in page.text
    assert "rejected: length ratio 12" in page.text
    assert "pairs read 1 240" in page.text
    assert "predicts best; persistence repeats" in page.text


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
    assert "the step fit has not run" in page.text
    assert "Nothing was held out" in page.text
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
    missing = {"proof", "coefficients", "effective_fraction", "frontier"}
    missing |= {"irreducible_loss"}
    assert set(made.counts["missing"]) == missing
    page = page_of(tmp_path)
    assert "A frontier needs two tasks" in page.text
    assert "The true entropy of these data is not known" in page.text
    assert "5 models of 5 sizes" in page.text


def test_three_tasks_have_a_panel_each(tmp_path: Path) -> None:
    weights = [
        (0.2, 0.3, 0.5), (0.5, 0.2, 0.3), (0.3, 0.5, 0.2), (0.6, 0.3, 0.1),
        (0.1, 0.6, 0.3), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0),
    ]  # fmt: skip
    mixtures = [dict(zip(TRUTH, one, strict=True)) for one in weights]
    simulate(tmp_path, mixtures, ["2k", "5k", "12k", "27k"])
    fitted(tmp_path, ("27k",), (), choose_sharing=False)
    record = read_record(tmp_path, Config())
    drawings = {d.name: d for d in draw(record, Config())}
    assert record.tasks == ("en-de", "en-fr", "en-it")
    for name in ("loss_by_size", "frontier", "convergence"):
        shown = [a for a in drawings[name].figure.axes if a.get_visible()]
        assert len(shown) == 3, name
    crosses = [
        line
        for line in drawings["frontier"].figure.axes[0].lines
        if line.get_marker() == "x"
    ]
    assert len(crosses) == 4 * 5  # mixtures with a positive weight of both tasks


def test_mistakes_are_told(workdir: Path, tmp_path: Path) -> None:
    def make(config: Config, folder: Path) -> None:
        report.run(config, workdir=folder, output=tmp_path / "report")

    with pytest.raises(UserError, match="no such folder"):
        make(Config(), tmp_path / "none")
    with pytest.raises(UserError, match="no artifact of a run"):
        make(Config(), tmp_path)
    with pytest.raises(UserError, match="newstest.*not measured.*in_domain"):
        make(Config(test_set="newstest"), workdir)
