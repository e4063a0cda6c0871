"""Dropout, label smoothing and momentum in the step ([N] App. C)."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from components.train.config import Config
from components.train.model_stack import ModelStack
from components.train.rows import FIELDS
from models.errors import UserError
from models.nmt.sizes import get_shape
from tests.components.train.sweep_data import (
    LENGTH,
    VOCABULARY,
    packed_rows,
    sweep_data,
)

SIZE = "1L2L-d12-ff20-h3"
CONFIG = Config(
    sizes=(SIZE,),
    mixtures=(0.5,),
    warmup_steps=5,
    batch_tokens=4 * LENGTH,
    dropout=0.2,
    label_smoothing=0.1,
    momentum=0.8,
    ema_decay=0.9,
)


def program(config=CONFIG):
    return ModelStack(config, get_shape(SIZE), VOCABULARY, [4, 5])


def batches(steps, seed):
    """``steps`` batches of 4 rows for both models, in the order of `FIELDS`."""
    rows = packed_rows(np.random.default_rng(seed), steps * 2 * 4, 1)
    shape = (steps, 2, 4, LENGTH)
    return [tf.constant(rows[name].reshape(shape), tf.int32) for name in FIELDS]


@pytest.fixture(scope="module")
def interrupted():
    """Losses of 6 steps and 6 more; the program, its state between and in the end."""
    whole = program()
    first = whole.train(batches(6, 0))
    between = whole.state()
    second = whole.train(batches(6, 1))
    return (first, second), whole, between, whole.state()


def test_resumed_it_draws_the_same_masks(interrupted):
    _, _, between, expected = interrupted
    resumed = program()
    resumed.restore(between)
    resumed.train(batches(6, 1))
    found = resumed.state()
    assert any("model/" in name for name in found)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_the_step_asks_for_what_the_configuration_says(monkeypatch):
    asked = []
    one = program()
    losses = one.model.token_losses

    def watched(*fields, dropout, label_smoothing):
        x = dropout(tf.ones((2, 150, 200)))
        asked.append((tf.reduce_mean(tf.cast(x == 0, tf.float32)), label_smoothing))
        return losses(*fields, dropout=dropout, label_smoothing=label_smoothing)

    monkeypatch.setattr(one.model, "token_losses", watched)
    rows = [field[0] for field in batches(1, 0)]
    one._gradients(rows, tf.ones(2), one._dropout(tf.constant([4, 5]), 0))
    ((share, smoothing),) = asked
    assert float(share) == pytest.approx(0.2, abs=0.01)
    assert smoothing == 0.1
    assert one.optimizer.momentum == 0.8


def test_trials_steps_and_parts_of_a_batch_have_masks_of_their_own():
    one = program()
    x = tf.ones((2, 50))
    seeds = tf.constant([4, 5])
    masks = [one._dropout(seeds, part)(x).numpy() for part in (0, 1)]
    one.optimizer.iterations.assign(1)
    masks.append(one._dropout(seeds, 0)(x).numpy())
    one.optimizer.iterations.assign(0)
    drawn = {row.tobytes() for mask in masks for row in mask}
    assert len(drawn) == 3 * 2
    np.testing.assert_array_equal(one._dropout(seeds, 1)(x), masks[1])


def test_a_trial_is_the_same_alone_and_beside_others(interrupted):
    """Its masks, too: what a trial comes to is a function of itself."""
    losses, _, _, _ = interrupted
    alone = ModelStack(CONFIG, get_shape(SIZE), VOCABULARY, [5])
    for seed, stacked in enumerate(losses):
        (own,) = alone.train([field[:, 1:] for field in batches(6, seed)])
        assert own == pytest.approx(stacked[1], rel=1e-4)


def test_test_losses_are_neither_smoothed_nor_dropped(interrupted):
    test_sets = sweep_data().test_sets
    _, trained, _, state = interrupted
    plain = dataclasses.replace(CONFIG, dropout=0.0, label_smoothing=0.0, momentum=0.0)
    other = program(plain)
    weights = {k: v for k, v in state.items() if "model/" in k or "average" in k}
    other.restore({**other.state(), **weights})
    for a, b in zip(
        trained.evaluate(test_sets), other.evaluate(test_sets), strict=True
    ):
        np.testing.assert_array_equal(a.nats, b.nats)


@pytest.mark.parametrize("field", ["dropout", "label_smoothing", "momentum"])
def test_out_of_range(field):
    with pytest.raises(UserError, match=f"{field}: got 1.0, expected 0 <= {field} < 1"):
        dataclasses.replace(CONFIG, **{field: 1.0})
