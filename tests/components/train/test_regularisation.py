"""Dropout, label smoothing and momentum in the step ([N] App. C)."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from components.train.config import Config
from components.train.program import Program
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
    average_decay=0.9,
)


def program(config=CONFIG):
    return Program(config, get_shape(SIZE), VOCABULARY, [4, 5])


def batches(steps, seed):
    """``steps`` batches of 4 rows for both models, in the order of `FIELDS`."""
    rows = packed_rows(np.random.default_rng(seed), steps * 2 * 4, 1)
    shape = (steps, 2, 4, LENGTH)
    return [tf.constant(rows[name].reshape(shape), tf.int32) for name in FIELDS]


def test_resumed_it_draws_the_same_masks():
    whole = program()
    for seed in (0, 1):
        whole.train(batches(6, seed))
    first = program()
    first.train(batches(6, 0))
    second = program()
    second.restore(first.state())
    second.train(batches(6, 1))
    expected, found = whole.state(), second.state()
    assert any("model/" in name for name in found)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_each_changes_training():
    plain = dataclasses.replace(CONFIG, dropout=0.0, label_smoothing=0.0, momentum=0.0)
    losses = [program(plain).train(batches(4, 0))]
    for field in ("dropout", "label_smoothing", "momentum"):
        config = dataclasses.replace(plain, **{field: getattr(CONFIG, field)})
        losses.append(program(config).train(batches(4, 0)))
    for other in losses[1:]:
        assert np.abs(other - losses[0]).min() > 1e-4


def test_parts_of_a_batch_have_masks_of_their_own():
    """The same row twice: with one mask for both parts, both would lose the same."""
    parts = program(dataclasses.replace(CONFIG, micro_batch_tokens=2 * LENGTH))
    drawn = []
    drop = parts._dropout
    parts._dropout = lambda part: drawn.append(drop(part)) or drawn[-1]
    x = tf.ones((2, 50))

    @tf.function
    def masks():
        return [parts._dropout(part)(x) for part in (0, 1)]

    first, second = masks()
    assert (first.numpy() != second.numpy()).any()
    assert np.isfinite(parts.train(batches(2, 0))).all()
    assert len(drawn) >= 3  # training has asked for its own


def test_test_losses_are_neither_smoothed_nor_dropped():
    test_sets = sweep_data().test_sets
    plain = dataclasses.replace(CONFIG, dropout=0.0, label_smoothing=0.0, momentum=0.0)
    trained = program()
    trained.train(batches(4, 0))
    other = program(plain)
    weights = {k: v for k, v in trained.state().items() if not k.startswith("opt")}
    other.restore({**other.state(), **weights})
    for a, b in zip(
        trained.evaluate(test_sets), other.evaluate(test_sets), strict=True
    ):
        np.testing.assert_array_equal(a.nats, b.nats)


@pytest.mark.parametrize("field", ["dropout", "label_smoothing", "momentum"])
def test_out_of_range(field):
    with pytest.raises(UserError, match=f"{field}: got 1.0, expected 0 <= {field} < 1"):
        dataclasses.replace(CONFIG, **{field: 1.0})
