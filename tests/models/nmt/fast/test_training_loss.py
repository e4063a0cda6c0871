"""The cross-entropy without stored logits against the plain one, and float64."""

import numpy as np
import pytest
import tensorflow as tf

from models.nmt.fast.training_loss import projected_cross_entropy
from models.nmt.loss import token_cross_entropy


def _by_autodiff(x, kernel, targets, weights):
    """Loss and gradients by TensorFlow's own kernels, in float64."""
    x, kernel = tf.constant(x, tf.float64), tf.constant(kernel, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch((x, kernel))
        logits = tf.einsum("sbtd,sdv->sbtv", x, kernel)
        nats = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
        total = tf.reduce_sum(nats * weights)
    return nats, tape.gradient(total, (x, kernel))


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_projected_cross_entropy_and_its_gradient(scale):
    rng = np.random.default_rng(1)
    x = scale * rng.normal(size=(2, 3, 5, 4))
    kernel = rng.normal(size=(2, 4, 11))
    targets = rng.integers(0, 11, (2, 3, 5)).astype("int32")
    targets[0, 0, :3] = 7  # several tokens add to one column
    weights = rng.uniform(0, 2, (2, 3, 5))
    expected, gradients = _by_autodiff(x, kernel, targets, weights)
    x, kernel = tf.constant(x, tf.float32), tf.constant(kernel, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch((x, kernel))
        nats = projected_cross_entropy(x, kernel, targets)
        total = tf.reduce_sum(nats * tf.constant(weights, tf.float32))
    np.testing.assert_allclose(nats, expected, rtol=1e-5, atol=1e-5 * scale)
    for found, wanted in zip(tape.gradient(total, (x, kernel)), gradients, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.usefixtures("bfloat16")
def test_projected_cross_entropy_of_one_model_in_bfloat16():
    rng = np.random.default_rng(2)
    x, kernel = rng.normal(size=(3, 5, 4)), rng.normal(size=(4, 11))
    targets = rng.integers(0, 11, (3, 5)).astype("int32")
    full = projected_cross_entropy(
        tf.constant(x, tf.float32), tf.constant(kernel, tf.float32), targets
    )
    half = projected_cross_entropy(
        tf.constant(x, tf.bfloat16), tf.constant(kernel, tf.bfloat16), targets
    )
    assert half.dtype == tf.float32
    np.testing.assert_allclose(half, full, atol=0.05)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_it_agrees_with_the_plain_version(smoothing):
    rng = np.random.default_rng(3)
    x = tf.constant(rng.normal(size=(2, 3, 5, 4)), tf.float32)
    kernel = tf.constant(rng.normal(size=(2, 4, 11)), tf.float32)
    targets = rng.integers(0, 11, (2, 3, 5)).astype("int32")
    found = []
    for fast in (True, False):
        with tf.GradientTape() as tape:
            tape.watch((x, kernel))
            if fast:
                nats = projected_cross_entropy(x, kernel, targets, smoothing)
            else:
                logits = tf.einsum("sbtd,sdv->sbtv", x, kernel)
                nats = token_cross_entropy(logits, targets, smoothing)
            total = tf.reduce_sum(nats * nats)
        found.append([nats, *tape.gradient(total, (x, kernel))])
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)
