"""The solver against certified fits and against SciPy's own soft_l1."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from models.laws import grouped, solver
from models.laws.grouped import grouped_form

# NIST StRD, DanWood: y = b1 x**b2, "lower level of difficulty", certified values.
DANWOOD_Y = np.array([2.138, 3.421, 3.597, 4.340, 4.882, 5.660])
DANWOOD_X = np.array([1.309, 1.471, 1.490, 1.565, 1.611, 1.680])
DANWOOD = {"b1": 7.6886226176e-01, "b2": 3.8604055871e00, "rss": 4.3173084083e-03}


@dataclasses.dataclass(frozen=True)
class PowerOfX:
    """``b1 x**b2`` without an irreducible loss."""

    x: np.ndarray
    names: tuple[str, ...] = ("b1", "b2")

    @property
    def lower(self) -> np.ndarray:
        return np.array([0.0, -10.0])

    @property
    def upper(self) -> np.ndarray:
        return np.array([np.inf, 10.0])

    def evaluate(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        power = self.x ** theta[:, [1]]
        slopes = np.stack([power, theta[:, [0]] * power * np.log(self.x)], axis=2)
        return theta[:, [0]] * power, slopes


@pytest.mark.parametrize("start", [(1.0, 5.0), (0.7, 4.0)])  # NIST's two starts
def test_danwood_to_the_certified_digits(start: tuple[float, float]) -> None:
    best = solver.best_of(PowerOfX(DANWOOD_X), DANWOOD_Y, np.array([start]), scale=1e6)
    np.testing.assert_allclose(best.theta, [DANWOOD["b1"], DANWOOD["b2"]], rtol=1e-8)
    assert 2 * best.cost == pytest.approx(DANWOOD["rss"], rel=1e-8)
    assert best.certified


def _table(seed: int) -> tuple[grouped.GroupedPowerLaw, np.ndarray]:
    """8 weightings x 7 sizes with two outliers."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(2e7, 7e8, 7)
    p = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
    form = grouped_form(
        np.tile(sizes / 1e8, 8), np.repeat(np.arange(8), 7), "abcdefgh", ("beta",)
    )
    truth = np.array([rng.uniform(0.15, 0.5), *(0.4 * p**-0.3), rng.uniform(0.8, 1.6)])
    y = form.evaluate(truth[None])[0][0] + rng.normal(0, 0.003, 56)
    y[[5, 40]] += 0.2
    return form, y


@pytest.mark.parametrize("seed", range(4))
def test_reaches_the_objective_of_scipys_soft_l1(seed: int) -> None:
    form, y = _table(seed)
    ours = solver.best_of(form, y, grouped.starts(form, y), scale=0.01)
    theirs = least_squares(
        lambda theta: form.evaluate(theta[None])[0][0] - y,
        ours.theta * 1.02,
        jac=lambda theta: form.evaluate(theta[None])[1][0],
        loss="soft_l1",
        f_scale=0.01,
        bounds=(0, 10),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-7)
    assert ours.cost <= theirs.cost * (1 + 1e-9)
    assert ours.certified


def test_jacobians_are_the_derivatives() -> None:
    form, _ = _table(7)
    theta = np.random.default_rng(0).uniform(0.2, 1.2, (3, len(form.names)))
    _, jacobian = form.evaluate(theta)
    for k in range(theta.shape[1]):
        step = np.zeros(theta.shape[1])
        step[k] = 1e-6
        slope = (form.evaluate(theta + step)[0] - form.evaluate(theta - step)[0]) / 2e-6
        np.testing.assert_allclose(jacobian[:, :, k], slope, atol=1e-7)


def test_a_batch_gives_what_single_fits_give() -> None:
    form, y = _table(3)
    tables = y + np.random.default_rng(1).normal(0, 0.01, (4, len(y)))
    starts = np.repeat(grouped.starts(form, y)[:1], 4, axis=0)
    batch = solver.minimize(form, tables, starts, scale=0.02).theta
    for k in range(4):
        alone = solver.minimize(form, tables[k], starts[:1], scale=0.02).theta[0]
        np.testing.assert_allclose(batch[k], alone, rtol=1e-5)


def test_bounds_hold_where_the_data_press_against_them() -> None:
    x = np.geomspace(0.1, 10, 8)
    form = grouped_form(x)
    y = 2.0 * x**-0.3 - 0.4  # would want an irreducible loss of -0.4
    best = solver.best_of(form, y, grouped.starts(form, y), scale=0.02)
    assert best.theta[2] == 0.0
    assert best.cosine < 1e-6
    refit = np.polynomial.polynomial.polyfit(np.log(x), np.log(y), 1)
    assert best.theta[0] == pytest.approx(-refit[1], abs=0.1)


def test_projection_is_the_best_linear_part() -> None:
    form, y = _table(5)
    beta, floor, sse = grouped.project(form, y, np.array([0.3]))
    power = form.x**-0.3
    design = np.zeros((56, 9))
    design[np.arange(56), form.beta_of] = power
    design[:, 8] = 1.0
    solution, rss, *_ = np.linalg.lstsq(design, y)
    np.testing.assert_allclose([*beta[0], *floor[0]], solution, rtol=1e-9)
    assert sse[0] == pytest.approx(rss[0])


@dataclasses.dataclass(frozen=True)
class ShiftedPower:
    """``b1 (b2 + x)**(-1 / b3)``, the model of NIST's Bennett5."""

    x: np.ndarray
    names: tuple[str, ...] = ("b1", "b2", "b3")
    lower: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([-np.inf, 0.0, 0.01])
    )
    upper: np.ndarray = dataclasses.field(
        default_factory=lambda: np.array([np.inf, np.inf, 10.0])
    )

    def evaluate(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b1, b2, b3 = (theta[:, [k]] for k in range(3))
        shifted = b2 + self.x
        power = shifted ** (-1 / b3)
        slopes = [power, -b1 / b3 * power / shifted]
        slopes.append(b1 * power * np.log(shifted) / b3**2)
        return b1 * power, np.stack(slopes, axis=2)


@pytest.mark.parametrize("start", [(-2000.0, 50.0, 0.8), (-1500.0, 45.0, 0.85)])
def test_bennett5_to_the_certified_digits(start: tuple[float, ...]) -> None:
    y, x = np.loadtxt(Path(__file__).with_name("nist_bennett5.txt"), unpack=True)
    found = solver.minimize(
        ShiftedPower(x), y, np.array([start]), scale=1e6, max_iterations=3000
    )
    certified = [-2.5235058043e03, 4.6736564644e01, 9.3218483193e-01]
    np.testing.assert_allclose(found.theta[0], certified, rtol=1e-6)
    assert 2 * found.cost[0] == pytest.approx(5.2404744073e-04, rel=1e-8)
