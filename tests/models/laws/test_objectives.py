"""Minimax, regret, requirements and caps, against brute force over the simplex."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UserError
from models.laws import (
    Law,
    Options,
    Query,
    Repetition,
    fit_approximate,
    observations,
    recommend,
)
from models.laws.frontier import as_mixture, simplex

SIZES = np.array([2, 5, 11, 30]) * 1e7
WEIGHTS = np.array([0.07, 0.2, 0.4, 0.65, 0.9])
COEFFICIENTS = ((0.30, 0.5, 1.2), (0.25, 0.8, 1.6), (0.35, 0.3, 1.9))


def laws(count: int, noise: float = 0.0) -> list[Law]:
    rng = np.random.default_rng(count)
    names = ("en-de", "en-zh", "en-fr")[:count]
    found = []
    for task, (alpha, beta, floor) in zip(names, COEFFICIENTS, strict=False):
        n, p = (part.ravel() for part in np.meshgrid(SIZES, WEIGHTS))
        f = p + 0.2 * p * (1 - p)
        value = beta * (f * n / 1e8) ** -alpha + floor
        value = value + noise * rng.standard_normal(len(n))
        rest = [name for name in names if name != task]
        mixture = [{task: q} | {r: (1 - q) / len(rest) for r in rest} for q in p]
        table = observations(
            task=[task] * len(n), n=n, p=p, value=value, mixture=mixture
        )
        found.append(fit_approximate(table, "flexible", Options(1e8)))
    return found


def brute(known: list[Law], n: float, objective, points: int = 30000) -> float:
    """The lowest value of an objective of the losses, by enumeration."""
    weights = simplex(len(known), points)
    mixture = as_mixture([law.task for law in known], weights)
    losses = np.column_stack([law.predict(Query(n, mixture)) for law in known])
    return float(np.min(objective(losses)))


def at(found, known: list[Law]) -> np.ndarray:
    return np.array([found.losses[law.task] for law in known])


@pytest.mark.parametrize("count", [2, 3])
def test_minimax_makes_the_worst_task_as_good_as_it_can_be(count: int) -> None:
    known = laws(count)
    found = recommend(known, 1e9, objective="minimax")
    lowest = brute(known, 1e9, lambda losses: losses.max(1))
    assert at(found, known).max() <= lowest + 1e-4


@pytest.mark.parametrize("count", [2, 3])
def test_weighted_finds_the_lowest_average(count: int) -> None:
    known = laws(count)
    wanted = np.array([3.0, 2.0, 1.0])[:count]
    preference = dict(zip([law.task for law in known], wanted, strict=True))
    found = recommend(known, 1e9, preference)
    share = wanted / wanted.sum()
    lowest = brute(known, 1e9, lambda losses: losses @ share)
    assert at(found, known) @ share <= lowest + 1e-5


def test_regret_evens_out_what_each_task_gives_up() -> None:
    known = laws(2)
    found = recommend(known, 1e9, objective="regret")
    alone = [float(law.predict(Query(1e9, 0.999))) for law in known]
    given_up = at(found, known) - alone
    assert given_up[0] == pytest.approx(given_up[1], abs=1e-4)


@pytest.mark.parametrize("count", [2, 3])
def test_a_requirement_is_met_where_it_can_be(count: int) -> None:
    known = laws(count)
    free = recommend(known, 1e9)
    limit = free.losses["en-zh"] - 0.02
    held = recommend(known, 1e9, require={"en-zh": limit})
    assert held.feasible
    assert held.losses["en-zh"] <= limit + 1e-6
    assert held.weights["en-zh"] > free.weights["en-zh"]


def test_an_impossible_requirement_is_said_to_be() -> None:
    known = laws(2)
    found = recommend(known, 1e9, require={"en-de": 1.3, "en-zh": 1.7})
    assert not found.feasible
    assert "infeasible" in found.verdict and "nearest" in found.verdict
    excess = at(found, known) - [1.3, 1.7]
    nearest = brute(known, 1e9, lambda losses: (losses - [1.3, 1.7]).max(1))
    assert excess.max() <= nearest + 1e-4


def test_a_cap_on_repetition_binds_and_shows_what_it_costs() -> None:
    known = laws(2)
    free = recommend(known, 1e9)
    cap = Repetition(planned=1e7, repeats=4)
    sizes = {"en-de": 1e9, "en-zh": 5e5}
    held = recommend(known, 1e9, examples=sizes, repetition=cap)
    assert held.weights["en-zh"] == pytest.approx(0.2, abs=1e-6)
    assert held.unconstrained["en-zh"] == pytest.approx(free.weights["en-zh"], abs=1e-4)
    generous = Repetition(planned=1e5, repeats=4)
    loose = recommend(known, 1e9, examples=sizes, repetition=generous)
    assert loose.unconstrained is None
    with pytest.raises(UserError, match="fill only"):
        recommend(known, 1e9, examples={"en-de": 1e5, "en-zh": 1e5}, repetition=cap)


def test_a_chosen_minimum_is_corrected_upwards() -> None:
    known = laws(2, noise=0.01)
    found = recommend(known, 1e9)
    assert found.optimism > 0
    assert found.value == pytest.approx(
        0.5 * at(found, known).sum() + found.optimism, abs=1e-9
    )


def test_three_tasks_have_intervals_that_hold_the_truth() -> None:
    truth = recommend(laws(3), 1e9).weights
    found = recommend(laws(3, noise=0.003), 1e9)
    for task, (low, high) in found.weight_intervals.items():
        assert low - 0.01 < truth[task] < high + 0.01
        assert 0 < high - low < 0.3
