"""Dropout: its share, its mean, and whose seed its masks depend on."""

import numpy as np
import pytest
import tensorflow as tf

from models.nmt.dropout import dropout
from models.nmt.sizes import Shape
from tests.models.nmt.test_vaswani_block import build, rows


def test_dropout_is_a_function_of_its_seed_and_keeps_the_mean():
    ones = tf.ones((200, 300))

    def draw(seed):
        drop = dropout(0.3, tf.constant(seed))
        return drop(ones).numpy(), drop(ones).numpy()

    first, second = draw(5)
    assert (first == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert first.mean() == pytest.approx(1.0, abs=0.01)
    assert (first == second).mean() == pytest.approx(0.58, abs=0.01)  # .7^2 + .3^2
    np.testing.assert_array_equal(draw(5)[1], second)
    assert (draw(6)[0] != first).any()


@pytest.mark.parametrize("block", ["t5", "vaswani"])
def test_dropout_reaches_the_losses(block):
    model = build(Shape("s", 1, 1, 12, 3, 4, 20, block))
    fields = rows(np.random.default_rng(10))

    def losses(seed):
        return np.array(
            model.token_losses(*fields, dropout=dropout(0.2, tf.constant(seed)))
        )

    assert np.abs(losses(1) - losses(2)).max() > 1e-3
    np.testing.assert_array_equal(losses(1), losses(1))


def test_the_models_of_a_stack_have_the_masks_they_have_alone():
    x = tf.ones((3, 20, 30))
    together = dropout(0.3, tf.constant([7, 8, 7]))
    alone = dropout(0.3, tf.constant([8]))
    for _ in range(2):
        stacked = together(x).numpy()
        np.testing.assert_array_equal(stacked[1:2], alone(x[:1]))
        np.testing.assert_array_equal(stacked[0], stacked[2])
        assert (stacked[0] != stacked[1]).any()
