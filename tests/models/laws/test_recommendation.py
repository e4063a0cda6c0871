"""Frontiers and weights from laws whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UserError
from models.laws import Law, Options, fit_approximate, frontier, observations, recommend
from models.laws.frontier import simplex

SIZES = np.array([2, 4, 8, 16, 32]) * 1e7
COEFFICIENTS = {"en-de": (0.30, 0.50, 1.2), "en-zh": (0.25, 0.80, 1.6)}


def loss(task: str, n: float, p: np.ndarray) -> np.ndarray:
    alpha, beta, floor = COEFFICIENTS[task]
    f = p + 0.2 * p * (1 - p)
    return beta * (f * n / 1e8) ** -alpha + floor


def laws(noise: float = 0.002, draws: int = 200, seed: int = 0) -> list[Law]:
    rng = np.random.default_rng(seed)
    found = []
    for task in COEFFICIENTS:
        weights = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
        n, p = (part.ravel() for part in np.meshgrid(SIZES, weights))
        value = loss(task, n, p) + noise * rng.standard_normal(len(n))
        other = next(name for name in COEFFICIENTS if name != task)
        table = observations(
            task=[task] * len(n),
            n=n,
            p=p,
            value=value,
            mixture=[
                {name: q if name == task else 1 - q for name in COEFFICIENTS} for q in p
            ],
        )
        assert other in table.tasks
        found.append(fit_approximate(table, "flexible", Options(1e8, draws=draws)))
    return found


def best_weight(n: float, wanted: tuple[float, float]) -> float:
    """The true optimum by brute force."""
    p = np.linspace(0.001, 0.999, 9981)
    values = wanted[0] * loss("en-de", n, p) + wanted[1] * loss("en-zh", n, 1 - p)
    return float(p[np.argmin(values)])


def test_the_frontier_is_the_true_trade_off() -> None:
    curve = frontier(laws(noise=0.0, draws=0), 1e9, points=25)
    assert curve.weights.shape == (25, 2)
    np.testing.assert_allclose(curve.weights.sum(1), 1.0)
    for k, task in enumerate(curve.tasks):
        true = loss(task, 1e9, curve.weights[:, k])
        np.testing.assert_allclose(curve.losses[:, k], true, rtol=1e-4)
    assert (np.diff(curve.losses[:, 0]) < 0).all()
    assert (np.diff(curve.losses[:, 1]) > 0).all()


@pytest.mark.parametrize(
    ("preference", "wanted"),
    [({"en-de": 2, "en-zh": 1}, (2 / 3, 1 / 3)), (None, (0.5, 0.5))],
)
def test_recommended_weights_are_the_true_optimum(preference, wanted) -> None:
    found = recommend(laws(noise=0.0, draws=0), 1e9, preference)
    assert found.weights["en-de"] == pytest.approx(best_weight(1e9, wanted), abs=2e-3)
    assert sum(found.weights.values()) == pytest.approx(1)


def test_weights_come_with_an_interval_and_a_comparison() -> None:
    found = recommend(
        laws(), 1e9, {"en-de": 3, "en-zh": 1}, examples={"en-de": 9e6, "en-zh": 3e5}
    )
    low, high = found.weight_intervals["en-de"]
    assert low < found.weights["en-de"] < high
    assert low < best_weight(1e9, (0.75, 0.25)) < high
    names = [one.name for one in found.alternatives]
    assert names == ["uniform", "proportional", "temperature 5"]
    for one in found.alternatives:
        assert one.gain == pytest.approx(one.objective - found.value)
        assert one.gain_interval[0] < one.gain < one.gain_interval[1]
    assert found.alternatives[1].weights["en-de"] == pytest.approx(9e6 / 9.3e6)
    assert found.optimism >= 0
    assert "proportional weights by" in found.verdict


def test_no_difference_is_said_in_words() -> None:
    found = recommend(laws(noise=0.05, seed=3), 1e8, {"en-de": 1, "en-zh": 0.75})
    assert not found.alternatives[0].exceeds_uncertainty
    assert "as good within the uncertainty" in found.verdict


@pytest.mark.parametrize(
    ("preference", "message"),
    [
        ({"en-fr": 1.0}, "unknown task en-fr; these laws know en-de, en-zh"),
        ({"en-de": 1.0}, "prefer: en-zh is not named; expected a weight for each"),
        ({"en-de": -1.0, "en-zh": 2}, "expected weights of 0 or more"),
        ({"en-de": 0.0, "en-zh": 0}, "one of them positive"),
    ],
)
def test_impossible_preferences_are_refused(preference, message) -> None:
    with pytest.raises(UserError, match=message):
        recommend(laws(draws=0), 1e9, preference)


def test_a_trade_off_needs_two_laws_and_data_sizes_of_all_tasks() -> None:
    with pytest.raises(UserError, match="two or more tasks; found en-de"):
        frontier(laws(draws=0)[:1], 1e9)
    with pytest.raises(UserError, match="examples: en-zh"):
        recommend(laws(draws=0), 1e9, examples={"en-de": 10})


def test_a_simplex_has_only_positive_weights_that_sum_to_one() -> None:
    points = simplex(4, 150)
    assert len(points) >= 150 and (points > 0).all()
    np.testing.assert_allclose(points.sum(1), 1.0)
    assert len(np.unique(points, axis=0)) == len(points)


def test_the_correction_is_what_choosing_costs() -> None:
    """Over repeated tables the corrected value is the true one, in the mean."""
    wanted = np.array([0.6, 0.4])
    preference = dict(zip(COEFFICIENTS, wanted.tolist(), strict=True))
    missed, corrections = [], []
    for seed in range(12):
        known = laws(noise=0.01, draws=40, seed=seed)
        found = recommend(known, 1e8, preference, objective="minimax")
        p = np.array(found.weights["en-de"])
        true = np.array([loss("en-de", 1e8, p), loss("en-zh", 1e8, 1 - p)])
        missed.append(float(2 * (wanted * true).max()) - found.believed)
        corrections.append(found.optimism)
        assert found.value == pytest.approx(found.believed + found.optimism)
    error = np.std(missed) / len(missed) ** 0.5
    assert abs(np.mean(missed) - np.mean(corrections)) < 3 * error
    assert 0.0005 < np.mean(corrections) < 0.005


def test_laws_of_one_size_say_so_and_keep_a_sane_correction() -> None:
    known = []
    rng = np.random.default_rng(3)
    p = np.linspace(0.1, 0.9, 9)
    for task in COEFFICIENTS:
        mixture = [
            {name: q if name == task else 1 - q for name in COEFFICIENTS} for q in p
        ]
        runs = observations(
            task=[task] * 9,
            n=np.full(9, 2e7),
            p=p,
            value=loss(task, 2e7, p) + 0.01 * rng.standard_normal(9),
            mixture=mixture,
        )
        known.append(fit_approximate(runs, "linear", Options(single_size=True)))
    assert all(law.parameters["alpha"] <= 1 for law in known)
    there, beyond = recommend(known, 2e7), recommend(known, 1e9)
    assert 0 <= there.optimism < 0.05
    assert not any("n =" in text for text in there.warnings)
    assert "fitted at n = 2e+07 alone" in beyond.warnings[0]
    larger = recommend(laws(), 3.2e9)
    assert "n = 3.2e+09: 10x the largest fitted size" in larger.warnings[0]
