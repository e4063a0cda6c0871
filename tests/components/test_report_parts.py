"""The parts of the report that compute: convergence, the proof, labels, colours."""

from __future__ import annotations

import math

import pytest

from components.artifacts.metrics_table import MetricsRow
from components.fit.held_out import Compared
from components.report import convergence, proof
from components.report.appearance import (
    count_text,
    log_y_axis,
    panels,
    readable,
    size_axis,
    spread,
    weight_colour,
)
from components.report.config import Config
from models.errors import FieldError


def row(step: int, loss: float | None, p: float = 0.3, **changed: object) -> MetricsRow:
    values = {
        "trial": "t", "cohort": "en-xx", "size": "2k", "seed": 0, "task": "en-de",
        "p": p, "mixture": f"en-de={p:g},en-fr={1 - p:g}", "test_set": "in_domain",
        "n": 2016, "n_enc": 900, "n_dec": 1116, "n_embedding": 4096, "step": step,
        "loss": loss, "loss_kind": "curve",
    }  # fmt: skip
    return MetricsRow(**{**values, **changed})


def test_movement_over_the_last_doubling_by_hand() -> None:
    curve = [row(100, 4.0), row(800, 2.0), row(200, 3.4), row(400, 2.5)]
    (moved,) = convergence.movements(curve, "in_domain")
    assert moved.steps == 800
    assert moved.fall_percent == pytest.approx(100 * (2.5 - 2.0) / 2.0)
    assert moved.exceeds(24.9) and not moved.exceeds(25.1)


def test_between_two_evaluations_the_loss_is_linear_in_log_steps() -> None:
    curve = [row(100, 4.0), row(400, 3.0), row(500, 2.8)]
    assert convergence.loss_at(curve, 200) == pytest.approx(3.5)
    expected = 4.0 - math.log(2.5) / math.log(4.0)
    assert convergence.loss_at(curve, 250) == pytest.approx(expected)
    assert convergence.loss_at(curve, 100) == 4.0
    assert convergence.loss_at(curve, 99) is None
    assert convergence.loss_at(curve, 501) is None


def test_a_loss_that_rises_is_not_converged_either() -> None:
    (moved,) = convergence.movements([row(50, 3.0), row(100, 3.1)], "in_domain")
    assert moved.fall_percent == pytest.approx(-100 * 0.1 / 3.1)
    assert moved.exceeds(1.0)


def test_what_is_no_evidence_is_left_out() -> None:
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
    (moved,) = convergence.movements(rows, "in_domain", without=["failed"])
    assert (moved.trial, moved.fall_percent) == ("short", None)
    assert not moved.exceeds(0.0)


def compared(law: str, kind: str, error: float, **changed: object) -> Compared:
    values = {
        "trial": "t", "task": "en-de", "test_set": "in_domain", "size": "64k",
        "n": 66304.0, "p": 0.3, "kind": kind, "law": law, "loss": 2.0,
        "predicted": 2.0 * (1 + error / 100), "low": 1.99, "high": 2.03,
        "error_percent": error,
    }  # fmt: skip
    return Compared(**{**values, **changed})


def test_only_the_law_that_answers_counts() -> None:
    every = [
        compared("approximate", "size", 3.0),
        compared("joint", "size", -1.0, answers=True),
        compared("approximate", "size", 2.0, trial="u", answers=True),
        compared("joint", "size", math.nan, trial="v", answers=True),
        compared("approximate", "mixture", 0.5, answers=True),
        compared("joint", "mixture", 0.1),
    ]
    chosen = {one.trial: one.law for one in proof.chosen(every, "size")}
    assert chosen == {"t": "joint", "u": "approximate"}
    assert proof.errors(every, "size") == {
        "median_error_percent": 1.5,
        "max_error_percent": 2.0,
        "n_points": 2,
    }
    assert proof.errors(every, "mixture")["median_error_percent"] == 0.5
    assert proof.errors([], "mixture") is None


def test_coverage_counts_only_closed_intervals() -> None:
    every = [
        compared("joint", "size", 1.0),
        compared("joint", "size", 1.0, low=2.001),
        compared("joint", "size", 1.0, low=-math.inf, high=math.inf),
    ]
    assert proof.covered(every) == (1, 2)


def test_labels_are_moved_apart_no_further_than_needed() -> None:
    assert spread([0.0, 0.1, 1.0], 0.3) == pytest.approx([-0.1, 0.2, 1.0])
    values = [0.42, 0.40, 0.9, 0.41, 0.43]
    placed = spread(values, 0.06)
    ordered = sorted(placed)
    gaps = [b - a for a, b in zip(ordered, ordered[1:], strict=False)]
    assert min(gaps) > 0.06 - 1e-6
    assert sorted(range(5), key=placed.__getitem__) == sorted(
        range(5), key=values.__getitem__
    )
    assert placed[2] == pytest.approx(0.9)
    assert spread([], 0.1) == []


def test_text_stands_out_on_white_in_every_colour() -> None:
    def contrast(rgb: tuple[float, ...]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in rgb]  # fmt: skip
        parts = zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        return 1.05 / (0.05 + sum(weight * c for weight, c in parts))

    for p in (0.0, 0.31, 0.77, 1.0):
        assert contrast(readable(weight_colour(p))) >= 4.5
    assert contrast(weight_colour(1.0)[:3]) < 4.5  # which is why it is darkened


def test_sizes_are_ticks_where_their_labels_have_room() -> None:
    _, (axes,) = panels(1)
    names = {2000.0: "2k", 2100.0: "2.1k", 30000.0: "30k", 64000.0: "64k"}
    size_axis(axes, names)
    axes.set_xlim(1800, 70000)
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert shown == ["2k", "30k", "64k"]


def test_a_logarithmic_axis_has_round_ticks_within_its_limits() -> None:
    for low, high in ((0.58, 2.9), (0.02, 7.0), (0.9, 1.25)):
        _, (axes,) = panels(1)
        log_y_axis(axes, low, high)
        ticks = axes.get_yticks()
        assert len(ticks) >= 2 and min(ticks) >= low and max(ticks) <= high


def test_numbers_of_parameters_read_as_people_say_them() -> None:
    said = {750: "750", 2016: "2.02k", 66304: "66.3k", 999_999: "1M", 1.27e8: "127M",
            1_019_312_128: "1.02B"}  # fmt: skip
    assert {n: count_text(n) for n in said} == said


def test_a_configuration_says_what_it_expects() -> None:
    with pytest.raises(FieldError, match="level: 95; expected between"):
        Config(level=95.0)
    with pytest.raises(FieldError, match="movement_percent: 0"):
        Config(movement_percent=0.0)
    with pytest.raises(FieldError, match="dots_per_inch"):
        Config(dots_per_inch=5)
