"""Trials that diverge: the sweep ends, and the metrics table says that they failed."""

import dataclasses
import logging

import pytest

from components import evaluate
from components.artifacts import metrics_table
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import TrialRecord
from components.train import run
from components.train.config import Config
from models.nmt.sizes import count_parameters, get_shape
from tests.components.train.sweep_data import TASKS, VOCABULARY
from tests.components.train.token_files import write_tokens

pytestmark = pytest.mark.slow

# A learning rate at which no model survives.
CONFIG = Config(
    sizes=("2k",),
    mixtures=(0.3, 0.8),
    steps=60,
    steps_per_execution=5,
    batch_tokens=60,
    learning_rate=1e30,
    warmup_steps=1,
    evaluations=2,
    stack=1,
)


def test_the_table_carries_what_failed(tmp_path, caplog):
    write_tokens(tmp_path / "tokens")
    trials = [
        Trial("en-xx", "2k", tuple(zip(TASKS, (p, 1 - p), strict=True)))
        for p in (0.25, 0.75)
    ]
    places = {"tokens": tmp_path / "tokens"}
    with caplog.at_level(logging.WARNING):
        made = run(CONFIG, trials=tuple(trials), output=tmp_path / "train", **places)
    assert (made.counts["failed"], made.counts["crashed"]) == (2, 0)
    for trial in trials:
        record = TrialRecord.load(tmp_path / "train" / trial.id)
        assert record.status == "failed" and record.step < 60
        assert "in steps" in record.reason
        assert f"{trial.id}: loss became" in caplog.text
    evaluate.run(
        evaluate.Config(),
        train=tmp_path / "train",
        output=tmp_path / "evaluate",
        **places,
    )
    rows = metrics_table.load(tmp_path / "evaluate" / "metrics.csv")
    finals = [row for row in rows if row.loss_kind == "final"]
    expected = {
        (trial.id, task, trial.weight(task)) for trial in trials for task in TASKS
    }
    assert {(row.trial, row.task, row.p) for row in finals} == expected
    assert len(finals) == 4 and all(row.loss is None for row in finals)
    count = count_parameters(get_shape("2k"), VOCABULARY)
    parameters = {(row.n, row.n_enc, row.n_dec, row.n_embedding) for row in finals}
    assert parameters == {(count.n, *dataclasses.astuple(count))}
