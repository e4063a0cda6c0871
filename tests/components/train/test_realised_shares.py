"""Weights are shares of examples although rows are packed, to 3 sigma."""

import numpy as np
import pytest

from components.tokenize import packing
from components.train import mixture
from tests.components.train.sweep_data import in_memory

LENGTH = 32
WEIGHTS = np.array([[0.05, 0.95], [0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])
STEPS, BATCH = 400, 20


def packed(lengths):
    """Columns of the rows of a task, packed as ``tokenize`` packs them."""
    sides = [packing.Sentences(np.full(n.sum(), 3, np.int32), n) for n in lengths]
    plan = packing.plan(
        *lengths, source_length=LENGTH, target_length=LENGTH, window=1024
    )
    return plan.lay_out(*sides) | {"examples": plan.examples}


def made_up():
    """Short sentences in one task, long ones in the other, 6 to 2 a row."""
    rng = np.random.default_rng(0)
    return [
        [rng.integers(*bounds, 6000) for bounds in task]
        for task in (((2, 8), (3, 9)), ((8, 22), (10, 25)))
    ]


def realised(rows, probabilities):
    """Pairs and target tokens drawn, ``[stack, tasks, 2]``."""
    batches = mixture.batches(
        rows,
        probabilities,
        np.arange(len(WEIGHTS)),
        batch_rows=BATCH,
        steps_per_execution=STEPS,
        start_step=0,
        stop_step=STEPS,
        drawn=np.zeros(WEIGHTS.shape, np.int64),
    )
    ((_, (_, seen)),) = batches
    return seen.numpy()


def deviations(rows, probabilities, counted):
    """How far each realised share is from its weight, in standard deviations.

    A share is a ratio of sums over independent draws of rows; of a row with x
    units that is of the task or not, its deviation is that of x (1[task] - p).
    """
    seen = realised(rows, probabilities)[..., counted]
    shares = seen / seen.sum(axis=1, keepdims=True)
    name = ("examples", "target_tokens")[counted]
    units = [shard[name].astype(float) for shard in rows.rows.shards]
    mean, square = (
        np.array([(one**power).mean() for one in units]) for power in (1, 2)
    )
    average = (probabilities * mean).sum(axis=1)  # units in a row of the mixture
    first, p = probabilities[:, 0], WEIGHTS[:, 0]
    spread = first * square[0] * (1 - p) ** 2 + (1 - first) * square[1] * p**2
    sigma = np.sqrt(spread / (STEPS * BATCH)) / average
    return np.abs(shares[:, 0] - p) / sigma


@pytest.mark.parametrize("counted", [0, 1], ids=["examples", "target_tokens"])
def test_realised_shares_are_the_weights(counted):
    check_realised_shares(made_up(), counted)


def check_realised_shares(lengths, counted):
    """Shares of the rows drawn are the weights, of examples or of target tokens."""
    rows = in_memory([packed(task) for task in lengths])
    per_row = (rows.examples, rows.target_tokens)[counted]
    corrected = mixture.row_probabilities(WEIGHTS, per_row)
    assert deviations(rows, corrected, counted).max() < 3
    if counted == 0:
        # Rows drawn at the weights themselves give other shares of examples.
        assert per_row.max() > 1.2 * per_row.min()
        assert deviations(rows, WEIGHTS, counted).min() > 3
