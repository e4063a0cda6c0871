"""Token cross-entropy against a float64 derivation."""

import keras
import numpy as np

from models.nmt.loss import token_cross_entropy


def test_against_float64():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 30, (2, 3, 4, 9))
    targets = rng.integers(0, 9, (2, 3, 4))
    shifted = logits - logits.max(-1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    expected = -np.take_along_axis(log_softmax, targets[..., None], -1)[..., 0]
    found = token_cross_entropy(logits.astype("float32"), targets.astype("int32"))
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(found), expected, rtol=1e-4, atol=1e-4
    )


def test_survives_extreme_logits():
    logits = np.array([[1e4, 0.0, -1e4]], "float32")
    found = token_cross_entropy(logits, np.array([1], "int32"))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(found), [1e4])
