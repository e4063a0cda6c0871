"""Which runs to train: against exhaustive search, and against fits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from models.errors import UserError
from models.laws import Query, fit_approximate, observations
from models.laws.design import cheapest, rank
from models.laws.precision import Precision, precision

SIZES = np.array([1.9, 6.4, 12.7, 19.1, 34.0]) * 1e7
TASKS = ("en-de", "en-fr")


def grid(sizes: np.ndarray, weights: list[float], **options: object) -> Precision:
    n, p = (part.ravel() for part in np.meshgrid(sizes, weights))
    settings = {"target_n": 1e9, "target_shares": [[0.3, 0.7], [0.6, 0.4]]} | options
    return precision(TASKS, n, np.column_stack([p, 1 - p]), n, **settings)


def price(known: Precision, runs: tuple[int, ...]) -> float:
    return float(known.cost[list(runs)].sum() / known.cost.sum())


@pytest.mark.parametrize("ratio", [1.15, 1.5, 2.5])
def test_no_other_subset_is_cheaper(ratio: float) -> None:
    known = grid(SIZES[:4], [0.1, 0.4, 0.8])
    limit = ratio * known.half_width(range(12)) * (1 + 1e-12)
    least = min(
        price(known, runs)
        for count in range(7, 13)
        for runs in itertools.combinations(range(12), count)
        if len({known.n[k] for k in runs}) == 4 and known.half_width(runs) <= limit
    )
    found = cheapest(known, ratio)
    assert found.interval <= ratio * (1 + 1e-9)
    assert found.interval == pytest.approx(
        known.half_width(found.runs) / known.half_width(range(12))
    )
    assert found.cost_share == pytest.approx(price(known, found.runs))
    assert found.cost_share <= 1.02 * least


def test_intervals_that_may_be_wider_cost_less_and_less() -> None:
    known = grid(SIZES, [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
    shares = [cheapest(known, ratio).cost_share for ratio in (1.0, 1.1, 1.3, 2.0)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9 and shares[2] < 0.25 and shares[3] < 0.1
    assert len({known.n[k] for k in cheapest(known, 2.0).runs}) >= 4


def test_one_run_more_is_what_it_says() -> None:
    known = grid(SIZES, [0.0, 0.2, 0.5, 0.8, 1.0])
    chosen = [0, 3, 6, 8, 11, 13, 17, 19, 21, 24]
    now, after = known.outlook(chosen)
    assert now == pytest.approx(known.half_width(chosen))
    for k in (1, 4, 12, 23):
        assert after[k] == pytest.approx(known.half_width([*chosen, k]))


def test_what_is_done_stays_and_the_next_runs_add_to_it() -> None:
    known = grid(SIZES, [0.05, 0.3, 0.5, 0.7, 0.95])
    done = (24, 2, 7)
    found = cheapest(known, 1.4, done)
    assert found.runs[:3] == done
    following = rank(known, done, count=6)
    assert not set(following.runs) & set(done) and len(following.runs) == 6
    assert list(following.half_widths) == sorted(following.half_widths, reverse=True)
    assert following.half_widths[5] == pytest.approx(
        known.half_width([*done, *following.runs])
    )


def test_the_planned_width_is_that_of_a_fit() -> None:
    """Fitted on the same runs, the laws' own intervals are as wide as planned."""
    n, p = (part.ravel() for part in np.meshgrid(SIZES, [0.1, 0.3, 0.5, 0.7, 0.9]))
    rng, laws = np.random.default_rng(1), {}
    for task, own in zip(TASKS, (p, 1 - p), strict=True):
        value = 1.2 + 0.4 * ((own + 0.2 * own**0.8 * (1 - own)) * n / 1e8) ** -0.3
        runs = observations(
            task=[task] * 25,
            n=n,
            p=own,
            value=value + 0.004 * rng.standard_normal(25),
            mixture=[dict(zip(TASKS, (q, 1 - q), strict=True)) for q in p],
        )
        laws[task] = fit_approximate(runs, "flexible")
    known = grid(SIZES, [0.1, 0.3, 0.5, 0.7, 0.9], laws=laws)
    goals = [(0.3, 0.7), (0.6, 0.4)]
    for measured in (True, False):
        ends = [
            law.interval(
                Query(1e9, dict(zip(TASKS, mix, strict=True))), measured=measured
            )
            for law in laws.values()
            for mix in goals
        ]
        expected = float(np.mean([0.5 * (high - low) for low, high in ends]))
        planned = known.half_width(range(25), measured)
        assert planned == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("mixes", "coefficients"),
    [
        ([[1.0]] * 3, 3),
        ([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]], 5),
    ],
)
def test_any_number_of_tasks(mixes: list[list[float]], coefficients: int) -> None:
    names = ("a", "b", "c")[: len(mixes[0])]
    n = np.repeat(SIZES, len(mixes))
    known = precision(names, n, mixes * 5, n, target_n=1e9, target_shares=mixes[:1])
    assert [task.coefficients for task in known.tasks] == [coefficients] * len(names)
    assert 0 < cheapest(known, 1.5).cost_share < 1


def test_too_few_runs_have_no_subset() -> None:
    assert cheapest(grid(SIZES[:2], [0.3, 0.6]), 1.3) is None


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(UserError, match="positive sizes and costs"):
        precision(TASKS, [0], [[0.5, 0.5]], [1], target_n=1e9, target_shares=[[1, 0]])
    with pytest.raises(UserError, match="interval 0.9: expected 1 or more"):
        cheapest(grid(SIZES, [0.3, 0.6]), 0.9)
