"""Held-out validation: which law speaks, and how well it predicts."""

from __future__ import annotations

import math

from components.fit.held_out import Compared, chosen, summarise


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
    sizes = chosen(every, "size")
    assert {one.trial: one.law for one in sizes} == {"t": "joint", "u": "approximate"}
    errors = summarise(sizes)
    assert errors.median_error_percent == 1.5
    assert (errors.max_error_percent, errors.n_points) == (2.0, 2)
    assert summarise(chosen(every, "mixture")).median_error_percent == 0.5
    assert summarise([]) is None


def test_coverage_counts_only_closed_intervals() -> None:
    every = [
        compared("joint", "size", 1.0),
        compared("joint", "size", 1.0, low=2.001),
        compared("joint", "size", 1.0, low=-math.inf, high=math.inf),
    ]
    errors = summarise(every)
    assert (errors.inside, errors.with_interval) == (1, 2)
