"""Sizes x mixtures x seeds, and mixtures as people write them."""

from __future__ import annotations

import pytest

from models.errors import UserError
from pipeline import grid

TWO = ("en-de", "en-fr")
THREE = ("en-de", "en-fr", "en-zh")


@pytest.mark.parametrize(
    ("value", "tasks", "weights"),
    [
        (0.3, TWO, (0.3, 0.7)),
        (0.9, TWO, (0.9, 0.1)),
        (1.0, TWO, (1.0, 0.0)),
        ({"en-fr": 0.2, "en-de": 0.8}, TWO, (0.8, 0.2)),
        ({"en-fr": 1.0}, TWO, (0.0, 1.0)),
        ({"en-de": 0.2, "en-zh": 0.8}, THREE, (0.2, 0.0, 0.8)),
        (1.0, ("en-de",), (1.0,)),
    ],
)
def test_a_mixture_gives_every_task_its_weight_in_order(value, tasks, weights):
    assert grid.mixture(value, tasks) == tuple(zip(tasks, weights, strict=True))


@pytest.mark.parametrize(
    ("value", "tasks", "message"),
    [
        (1.2, TWO, "the weight of en-de must lie in"),
        (-0.1, TWO, "the weight of en-de must lie in"),
        ({"en-de": 0.3, "en-fr": 0.8}, TWO, "the weights sum to 1.1, expected 1"),
        ({"en-de": 0.3, "en-rf": 0.7}, TWO, "en-rf is not one of the tasks .*en-fr?"),
        (0.3, THREE, "with 3 tasks write {en-de: 0.33, en-fr"),
        (0.3, ("en-de",), "the weights sum to 0.3"),
    ],
)
def test_what_is_no_mixture_is_refused(value, tasks, message):
    with pytest.raises(UserError, match=message):
        grid.mixture(value, tasks)


def test_the_grid_is_the_product_with_unique_names():
    trials = grid.trials(
        cohort="en-xx", tasks=TWO, sizes=("2k", "21k"), mixtures=(0.05, 0.7),
        seeds=(0, 3),
    )  # fmt: skip
    assert len({trial.id for trial in trials}) == len(trials) == 8
    assert trials[0].id == "en-xx_2k_p0.05_s0"
    assert trials[-1].id == "en-xx_21k_p0.70_s3"
    assert trials[-1].weight("en-fr") == pytest.approx(0.3)
