"""Intervals beyond the fitted sizes know how wrong the law was on a left-out size."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.laws import Observations, Query, fit_joint, observations
from models.laws.backtest import backtest
from models.laws.uncertainty import Misfit, t_factor

SIZES = np.array([2, 5, 11, 30, 80]) * 1e7
WEIGHTS = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 1.0])


def runs(seed: int, bend: float, sizes: np.ndarray = SIZES) -> Observations:
    """A joint law with noise; ``bend`` sets apart how fast its curves fall."""
    rng = np.random.default_rng(seed)
    n, p = (part.ravel() for part in np.meshgrid(sizes, WEIGHTS))
    own = rng.standard_normal(len(WEIGHTS))
    wrong = bend * np.repeat(own, len(sizes)) * np.log(n / SIZES[0]) / 3
    value = 1.2 + 0.5 * p**-0.2 * (n / 1e8) ** -0.3 + wrong
    value += 0.003 * rng.standard_normal(len(n))
    return observations(task=["en-de"] * len(n), n=n, p=p, value=value)


def covered(seed: int, bend: float) -> tuple[float, float]:
    """Share of the largest size's values in their interval, without and with misfit."""
    everything = runs(seed, bend)
    largest = everything.n == SIZES[-1]
    known, hidden = everything.take(~largest), everything.take(largest)
    judged = backtest([known])
    assert judged is not None
    shares = []
    for misfit in (Misfit(), judged.misfit("joint")):
        law = dataclasses.replace(fit_joint(known), misfit=misfit)
        low, high = law.interval(Query(hidden.n, hidden.p))
        shares.append(float(((low <= hidden.value) & (hidden.value <= high)).mean()))
    return shares[0], shares[1]


def test_intervals_of_a_true_law_cover_what_they_say() -> None:
    shares = np.array([covered(seed, 0.0) for seed in range(40)])
    assert 0.90 < shares[:, 0].mean() <= shares[:, 1].mean() < 0.985


def test_intervals_of_a_wrong_law_widen_until_they_cover() -> None:
    shares = np.array([covered(seed, 0.02) for seed in range(20)])
    assert shares[:, 0].mean() < 0.75
    assert shares[:, 1].mean() > 0.85


def test_the_misfit_grows_with_the_extrapolation_and_is_added_to_the_interval() -> None:
    known = runs(0, 0.0)
    law = fit_joint(known)
    step = float(np.log(SIZES[-1] / SIZES[-2]))
    wrong = dataclasses.replace(law, misfit=Misfit(0.02, step, 30))

    def widened(n: float) -> float:
        halves = []
        for one in (law, wrong):
            low, high = one.interval(Query(n, 0.5))
            halves.append(0.5 * float(high - low))
        return float(np.sqrt(halves[1] ** 2 - halves[0] ** 2)) / t_factor(0.95, 30)

    assert widened(float(SIZES[-1])) == pytest.approx(0.0, abs=1e-9)
    assert widened(float(SIZES[-1] * np.exp(0.5 * step))) == pytest.approx(0.02)
    assert widened(float(SIZES[-1] * np.exp(3 * step))) == pytest.approx(0.06)
