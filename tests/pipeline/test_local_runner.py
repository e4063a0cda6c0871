"""Steps one after the other: what runs, what is skipped, what is refused."""

from __future__ import annotations

import fcntl
import logging
from typing import get_args

import pytest

from components.artifacts import manifest, metrics_table
from components.artifacts.metrics_table import MetricsRow
from models.errors import UserError
from pipeline import Verb, local_runner, steps
from pipeline.experiment import load
from pipeline.steps import Context

TEXT = """\
name: tiny
cohort: en-xx
tasks: [en-de, en-fr]
train:
  sizes: [2k, 5k, 9k, 37k, 74k]
  mixtures: [0.1, 0.3, 0.5, 0.9]
fit: {draws: 100}
"""
SIZES = {"2k": 2e3, "5k": 5e3, "9k": 1e4, "37k": 3.7e4, "74k": 7.5e4}


def row(size: str, p: float, task: str, own: float) -> MetricsRow:
    n = int(SIZES[size])
    return MetricsRow(
        trial=f"en-xx_{size}_p{p}_s0", cohort="en-xx", size=size, seed=0, task=task,
        p=own, mixture=f"en-de={p},en-fr={round(1 - p, 3)}", test_set="in_domain", n=n,
        n_enc=n // 2, n_dec=n - n // 2, n_embedding=0, step=9, loss_kind="final",
        loss=1.1 + 0.6 * (4e4 / ((own + 0.1 * own**0.5 * (1 - own)) * n)) ** 0.4,
    )  # fmt: skip


@pytest.fixture
def context(tmp_path):
    """An experiment whose runs were evaluated; the losses follow a known law."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TEXT, encoding="utf-8")
    loaded = load(path)
    workdir = tmp_path / "work"
    workdir.mkdir()
    rows = [
        row(size, p, task, own)
        for size in SIZES
        for p in (0.1, 0.3, 0.5, 0.9)
        for task, own in (("en-de", p), ("en-fr", round(1 - p, 3)))
    ]

    def make(folder):
        metrics_table.save(folder / metrics_table.FILE_NAME, rows)
        return {"rows": len(rows)}

    manifest.complete("evaluate", workdir / "evaluate", config={}, inputs={}, make=make)
    return Context(experiment=loaded, root=tmp_path, workdir=workdir)


def test_one_step_after_the_other_and_nothing_twice(context, caplog):
    caplog.set_level(logging.INFO)
    local_runner.run_one(context, "fit")
    local_runner.run_one(context, "recommend")
    made = manifest.load(context.place("recommend"))
    assert (context.place("recommend") / "frontier.csv").is_file()
    assert "recommend: done in " in caplog.text
    caplog.clear()
    local_runner.run_one(context, "recommend")
    assert manifest.load(context.place("recommend")) == made
    assert "done in" not in caplog.text
    lines = (context.workdir / local_runner.LOG).read_text().splitlines()
    assert lines[0].endswith(" fit ...") and lines[-1].endswith("recommend: up to date")


def test_force_does_a_step_again_with_all_that_follows(context):
    local_runner.run_one(context, "fit")
    local_runner.run_one(context, "recommend")
    local_runner.run_one(context, "fit", force=True)
    assert not context.place("recommend").exists()
    assert context.place("evaluate").is_dir()


def test_a_step_says_which_step_comes_before_it(context):
    with pytest.raises(UserError, match="fit: not there yet, and recommend reads it"):
        local_runner.run_one(context, "recommend")


def test_the_log_says_what_a_run_ended_with(context, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(steps.fit, "run", fail)
    with pytest.raises(UserError):
        local_runner.run_one(context, "fit")
    log = (context.workdir / local_runner.LOG).read_text()
    assert log.endswith("the disk is full\n")


def test_two_runs_do_not_share_a_folder(context):
    with open(context.workdir / ".lock", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        with pytest.raises(UserError, match="process 4711 is working there"):
            local_runner.run_one(context, "fit")
    local_runner.run_one(context, "fit")


def test_a_workdir_that_cannot_be_made_is_said_to_be_one(context):
    blocked = Context(
        context.experiment, context.root, context.root / "tiny.yaml" / "work"
    )
    with pytest.raises(UserError, match="--workdir .*: "):
        local_runner.run(blocked, until="ingest")


def test_the_graph_has_no_loose_ends():
    assert get_args(Verb) == steps.VERBS
    for index, step in enumerate(steps.STEPS):
        assert set(step.needs) <= set(steps.VERBS[:index])
        assert step.verb in steps.dependents(step.verb)
    assert steps.dependents("ingest") == steps.VERBS
    assert steps.dependents("fit") == ("fit", "recommend", "report")


def test_only_an_experiment_that_asks_for_select_has_such_a_step(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TEXT, encoding="utf-8")
    without, asked = load(path), load(path, ["select={keep: {en-fr: 0.4}}"])
    verbs = [step.verb for step in steps.up_to(without, "tokenize")]
    assert verbs == ["ingest", "tokenize"]
    assert steps.get_step(without, "tokenize").needs == ("ingest",)
    with pytest.raises(UserError, match="tiny: has no step select; add"):
        steps.get_step(without, "select")
    verbs = [step.verb for step in steps.up_to(asked, "tokenize")]
    assert verbs == ["ingest", "select", "tokenize"]
    assert steps.get_step(asked, "tokenize").needs == ("ingest", "select")
    assert asked.select.share("en-fr") == 0.4
    for change in ("fit.laws=[joint]", "train.mixtures=[0.3]"):
        verbs = [step.verb for step in steps.of(load(path, [change]))]
        assert verbs[-2:] == ["fit", "report"]
    with pytest.raises(UserError, match="no step recommend; it needs several tasks"):
        steps.get_step(load(path, ["fit.laws=[joint]"]), "recommend")
    assert asked.select.share("en-de") == 1.0
