"""The formula of size, data and mixture: its limits and its derivatives."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from models.laws.approximate import CapacityForm
from models.laws.capacity import capacity
from models.laws.data_form import JOINS, DataForm, DataRows

VALUES = {
    "irreducible_loss": 1.1, "beta": 0.6, "alpha": 0.42, "beta_data": 0.45,
    "alpha_data": 0.65, "sharpness": 0.7, "unigram_loss": 4.2, "repeats": 3.0,
    "c1": 0.5, "c2": 0.6, "c3": 0.8, "g[b]": 0.2,
}  # fmt: skip


def _rows(count: int = 30, seed: int = 0) -> DataRows:
    rng = np.random.default_rng(seed)
    p = rng.choice([0.1, 0.3, 0.6, 0.9, 1.0], count)
    shares = np.column_stack([p, 1.0 - p])
    tokens = shares * rng.uniform(0.2, 9.0, (count, 1))
    unique = np.broadcast_to([0.8, 2.5], tokens.shape)
    return DataRows(rng.uniform(0.1, 9.0, count), p, shares, tokens, unique, 0)


def _theta(form: DataForm) -> np.ndarray:
    values = VALUES | ({"c1": 0.8} if "c2" not in form.names else {})
    return np.array([[values.get(name, 0.3) for name in form.names]])


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("shoulder", [None, 4.2, float("nan")])
@pytest.mark.parametrize("transfer", ["none", "shared", "each"])
def test_derivatives_are_those_of_the_values(join, shoulder, transfer):
    for label, repetition in itertools.product(
        (None, "linear", "flexible", "transfer"), (False, True)
    ):
        function = capacity(label, ("a", "b"), 0) if label else None
        form = DataForm(_rows(), function, join, shoulder, transfer, repetition, 3.0)
        theta, step = _theta(form), 1e-6
        _, jacobian = form.evaluate(theta)
        for k in range(theta.shape[1]):
            moved = np.repeat(theta, 2, axis=0)
            moved[:, k] += (step, -step)
            above, below = form.evaluate(moved)[0]
            np.testing.assert_allclose(
                jacobian[0, :, k], (above - below) / (2 * step), atol=3e-7
            )


@pytest.mark.parametrize("join", JOINS)
def test_at_endless_data_it_is_equation_11(join):
    rows = _rows()
    endless = np.full_like(rows.tokens, np.inf)
    rows = dataclasses.replace(rows, tokens=endless, unique=endless)
    flexible = capacity("flexible")
    form = DataForm(rows, flexible, join)
    value, jacobian = form.evaluate(_theta(form))
    law = CapacityForm(rows.x, rows.p, rows.shares, flexible)
    expected, _ = law.evaluate(
        np.array([[VALUES["alpha"], VALUES["beta"], 1.1, 0.5, 0.6, 0.8]])
    )
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert np.isfinite(jacobian).all()


def test_one_task_alone_is_the_law_of_hoffmann_and_of_kaplan():
    rows = _rows()
    one = np.ones_like(rows.p)
    alone = dataclasses.replace(
        rows, p=one, shares=one[:, None], tokens=rows.tokens[:, :1], unique=one[:, None]
    )
    a, b = VALUES["alpha"], VALUES["alpha_data"]
    size, data = VALUES["beta"], VALUES["beta_data"]
    n, d = alone.x, alone.tokens[:, 0]
    form = DataForm(alone)
    np.testing.assert_allclose(
        form.evaluate(_theta(form))[0][0], 1.1 + size * n**-a + data * d**-b
    )
    form = DataForm(alone, join="interplay")
    np.testing.assert_allclose(
        form.evaluate(_theta(form))[0][0],
        1.1 + ((size * n**-a) ** (1 / b) + data ** (1 / b) / d) ** b,
    )


def test_the_shoulder_ends_at_the_unigram_loss_and_begins_as_a_power_law():
    rows = _rows()
    for scale in (1e-7, 1e7):
        far = dataclasses.replace(
            rows, x=rows.x * scale, tokens=rows.tokens * scale, unique=rows.unique
        )
        form = DataForm(far, shoulder=4.2)
        value = form.evaluate(_theta(form))[0]
        if scale < 1:
            np.testing.assert_allclose(value, 4.2, rtol=0.01)
        else:
            power = DataForm(far).evaluate(_theta(DataForm(far)))[0]
            np.testing.assert_allclose(value - 1.1, (power - 1.1) * 3.1, rtol=0.01)


def test_repeated_tokens_count_once_and_then_less_and_less():
    tokens = np.array([[0.5], [1.0], [2.0], [1e6]])
    one = np.ones(4)
    rows = DataRows(one, one, one[:, None], tokens, one[:, None], 0)
    form = DataForm(rows, repetition=True)
    plain = DataForm(rows)
    theta = _theta(form)
    value = form.evaluate(theta)[0][0]
    # Muennighoff et al. 2023, eq. 5, with R = 3.
    effective = np.array([[0.5], [1.0], [1 + 3 * (1 - np.exp(-1 / 3))], [4.0]])
    expected = DataForm(dataclasses.replace(rows, tokens=effective))
    np.testing.assert_allclose(value, expected.evaluate(_theta(plain))[0][0])


def test_tokens_of_other_tasks_count_by_their_coefficient():
    rows = _rows()
    form = DataForm(rows, transfer="shared")
    joined = rows.tokens[:, :1] + 0.3 * rows.tokens[:, 1:]
    alone = DataForm(
        dataclasses.replace(
            rows, tokens=joined, unique=joined, shares=rows.shares[:, :1]
        )
    )
    np.testing.assert_allclose(
        form.evaluate(_theta(form))[0], alone.evaluate(_theta(alone))[0]
    )
