"""Chains with gradients of their own, against Keras's own functions."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from models.nmt.chains import compiled_by
from models.nmt.feedforward import gated_gelu
from models.nmt.projection import LayerNorm, RMSNorm


def draw(seed, *shape):
    return tf.constant(np.random.default_rng(seed).normal(0.3, 1.7, shape), tf.float32)


def values_and_gradients(function, *arguments):
    """Outputs, and gradients of a sum that weights every output differently."""
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        out = tf.cast(function(*arguments), tf.float32)
        total = tf.reduce_sum(out * draw(9, *out.shape))
    return [out.numpy(), *(g.numpy() for g in tape.gradient(total, arguments))]


def kerass_gated_gelu(gate, up):
    return keras.activations.gelu(gate, approximate=True) * up


def test_gated_gelu_and_its_gradient():
    arguments = draw(1, 3, 5, 7), draw(2, 3, 5, 7)
    ours = values_and_gradients(gated_gelu, *arguments)
    for own, oracle in zip(
        ours, values_and_gradients(kerass_gated_gelu, *arguments), strict=True
    ):
        np.testing.assert_allclose(own, oracle, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "ours, oracle",
    [
        (RMSNorm, keras.layers.RMSNormalization(epsilon=1e-6)),
        (LayerNorm, keras.layers.LayerNormalization(epsilon=1e-6)),
    ],
)
def test_norms_of_a_stack_and_their_gradients(ours, oracle):
    x, scale = draw(3, 2, 3, 5, 6), draw(4, 2, 6)
    layer = ours((2,), 6)
    layer.build()
    # The gradient of the shift is of a kind with that of any bias.
    oracle.build((3, 5, 6))

    def of_ours(x, scale):
        with keras.StatelessScope([(layer.scale, scale)]):
            return layer(x)

    def of_oracle(x, scale):
        parts = []
        for model in range(2):
            weight = oracle.trainable_variables[0]
            with keras.StatelessScope([(weight, scale[model])]):
                parts.append(oracle(x[model]))
        return ops.stack(parts)

    for own, theirs in zip(
        values_and_gradients(of_ours, x, scale),
        values_and_gradients(of_oracle, x, scale),
        strict=True,
    ):
        np.testing.assert_allclose(own, theirs, rtol=1e-4, atol=1e-5)


def test_a_compiler_is_given_every_chain_and_its_work_is_used():
    given = []

    @functools.cache
    def compiler(function):
        given.append(function.__name__)
        return tf.function(function, jit_compile=True, autograph=False)

    gate, up = (tf.cast(draw(seed, 4, 6), tf.bfloat16) for seed in (5, 6))
    plain = values_and_gradients(gated_gelu, gate, up)
    with compiled_by(compiler):
        compiled = values_and_gradients(gated_gelu, gate, up)
    assert len(given) == 2  # forward and backward
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)
    values_and_gradients(gated_gelu, gate, up)
    with compiled_by(None):
        values_and_gradients(gated_gelu, gate, up)
    assert len(given) == 2
