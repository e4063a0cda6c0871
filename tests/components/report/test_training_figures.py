"""How far a loss still moved at the end of training."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from components.artifacts.metrics_table import MetricsRow
from components.report.config import Config
from components.report.record import RunRecord, TrialEnd, read
from components.report.training_figures import loss_at, movements


@pytest.fixture(name="run_of")
def _run_of(workdir: Path):
    """A run with these rows, and with these trials failed."""
    record = read(workdir, Config())

    def make(rows: Sequence[MetricsRow], failed: Sequence[str] = ()) -> RunRecord:
        trials = tuple(TrialEnd(name, True, "why") for name in failed)
        return dataclasses.replace(record, rows=tuple(rows), trials=trials)

    return make


def row(step: int, loss: float | None, p: float = 0.3, **changed: object) -> MetricsRow:
    values = {
        "trial": "t", "cohort": "en-xx", "size": "2k", "seed": 0, "task": "en-de",
        "p": p, "mixture": f"en-de={p:g},en-fr={1 - p:g}", "test_set": "in_domain",
        "n": 2016, "n_enc": 900, "n_dec": 1116, "n_embedding": 4096, "step": step,
        "loss": loss, "loss_kind": "curve",
    }  # fmt: skip
    return MetricsRow(**{**values, **changed})


def test_movement_over_the_last_doubling_by_hand(run_of) -> None:
    curve = [row(100, 4.0), row(800, 2.0), row(200, 3.4), row(400, 2.5)]
    (moved,) = movements(run_of(curve))
    assert moved.fall_percent == pytest.approx(100 * (2.5 - 2.0) / 2.0)
    assert moved.exceeds(24.9) and not moved.exceeds(25.1)


def test_between_two_evaluations_the_loss_is_linear_in_log_steps() -> None:
    curve = [row(100, 4.0), row(400, 3.0), row(500, 2.8)]
    assert loss_at(curve, 200) == pytest.approx(3.5)
    expected = 4.0 - math.log(2.5) / math.log(4.0)
    assert loss_at(curve, 250) == pytest.approx(expected)
    assert loss_at(curve, 100) == 4.0
    assert loss_at(curve, 99) is None
    assert loss_at(curve, 501) is None


def test_a_loss_that_rises_is_not_converged_either(run_of) -> None:
    (moved,) = movements(run_of([row(50, 3.0), row(100, 3.1)]))
    assert moved.fall_percent == pytest.approx(-100 * 0.1 / 3.1)
    assert moved.exceeds(1.0)


def test_what_is_no_evidence_is_left_out(run_of) -> None:
    rows = [
        row(50, 6.0, p=0.0, trial="zero-shot"),
        row(100, 6.2, p=0.0, trial="zero-shot"),
        row(50, 3.0, trial="failed"),
        row(100, 2.0, trial="failed"),
        row(100, 2.0, trial="final", loss_kind="final"),
        row(100, None, trial="no loss"),
        row(100, 2.0, trial="elsewhere", test_set="news"),
        row(70, 3.0, trial="short"),
        row(100, 2.5, trial="short"),
    ]
    (moved,) = movements(run_of(rows, failed=["failed"]))
    assert (moved.trial, moved.fall_percent) == ("short", None)
    assert not moved.exceeds(0.0)
