"""Tests of what the papers find: they hold where they should, and see differences."""

from __future__ import annotations

import numpy as np
import pytest

from models.laws import (
    BivariateLaw,
    Observations,
    Options,
    fit_approximate,
    fit_bivariate,
    fit_individual,
    fit_joint,
    observations,
)
from models.laws.findings import (
    Outcome,
    compare_coefficient,
    compare_fractions,
    compare_sides,
    constancy,
    curvature,
    enough,
)

SIZES = np.geomspace(2e6, 1e9, 7)
WEIGHTS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
QUICK = Options(draws=0)


def runs(seed: int, slope: float = 0.0, c1: float = 0.3) -> Observations:
    """A task whose exponent changes by ``slope`` along p."""
    rng = np.random.default_rng(seed)
    n, p = (grid.ravel() for grid in np.meshgrid(SIZES, WEIGHTS))
    f = p + c1 * p**0.8 * (1 - p) ** 1.2
    alpha = 0.3 + slope * (p - 0.5)
    loss = 0.6 * (f * n / 1e8) ** -alpha + 1.3 + 0.003 * rng.standard_normal(len(n))
    mixture = [{"a": own, "b": 1 - own} for own in p.tolist()]
    return observations(task=["a"] * len(n), n=n, p=p, value=loss, mixture=mixture)


def test_the_chance_of_a_deviation() -> None:
    # P(F(4, 10) > 2.5) is that of fewer than 2 heads in 6 fair throws.
    assert Outcome(10.0, 4, 10.0).p_value == pytest.approx(7 / 64)
    assert not Outcome(10.0, 4, 10.0).rejected and Outcome(40.0, 4, 10.0).rejected


def test_constant_exponents_are_seldom_rejected_and_others_are() -> None:
    rejected = {"alpha": 0, "irreducible_loss": 0, "joint": 0}
    repeats = 25
    for seed in range(repeats):
        rows = runs(seed)
        laws, _ = fit_individual(rows, QUICK)
        for name in ("alpha", "irreducible_loss"):
            rejected[name] += constancy(laws, name).outcome.rejected
        rejected["joint"] += enough(fit_joint(rows, QUICK), laws).rejected
    assert max(rejected.values()) <= 5, rejected  # at 5 %: P(> 5 of 25) = 0.001
    laws, _ = fit_individual(runs(0, slope=0.15), QUICK)
    found = constancy(laws, "alpha")
    assert found.outcome.rejected and abs(found.largest) > 3
    assert enough(fit_joint(runs(0, slope=0.15), QUICK), laws).rejected


def test_capacity_curves_of_the_same_law_agree() -> None:
    rejected = 0
    p = np.linspace(0.05, 0.9, 4)
    for seed in range(12):
        first, second = (
            fit_approximate(runs(2 * seed + k), "flexible", QUICK) for k in (0, 1)
        )
        rejected += compare_fractions(first, second, p).outcome.rejected
    assert rejected <= 3
    other = fit_approximate(runs(1, c1=0.6), "flexible", QUICK)
    found = compare_fractions(first, other, p)
    assert found.outcome.rejected and found.second > found.first
    assert compare_coefficient(first, other, "alpha").outcome.p_value > 1e-4


def bivariate(alpha_dec: float) -> BivariateLaw:
    rng = np.random.default_rng(4)
    sides = np.geomspace(1e6, 6e7, 4)
    enc, dec = np.repeat(sides, 4), np.tile(sides, 4)
    loss = 0.7 * (enc / 1e7) ** -0.2 * (dec / 1e7) ** -alpha_dec + 1.2
    loss += 0.002 * rng.standard_normal(len(enc))
    ones = np.ones(len(enc))
    return fit_bivariate(
        observations(
            task=["a"] * len(enc), n=enc + dec, p=ones, value=loss, n_enc=enc, n_dec=dec
        ),
        QUICK,
    )


def test_the_sides_exponents_are_compared_with_their_covariance() -> None:
    apart, alike = compare_sides(bivariate(0.3)), compare_sides(bivariate(0.2))
    assert apart.outcome.rejected and 0 < apart.low < 0.1 < apart.high
    assert apart.value == pytest.approx(0.1, abs=0.03)
    assert not alike.outcome.rejected and alike.low < 0 < alike.high


def test_a_bend_is_told_from_a_line() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(1.5, 3, 12)
    straight = 80 - 10 * x + 0.1 * rng.standard_normal(12)
    assert not curvature(x, straight).rejected
    assert curvature(x, straight + 2 * (x - 2.2) ** 2).rejected
    assert curvature(x[:4], straight[:4]) is None


def test_without_freedom_there_is_no_test() -> None:
    few = runs(0)
    laws, _ = fit_individual(few.take(few.n < SIZES[3]), QUICK)
    assert constancy(laws, "alpha") is None
    assert enough(fit_joint(few, QUICK), laws) is None
