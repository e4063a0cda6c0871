"""Losses without a gradient against float64, near and far from their bound."""

import numpy as np
import pytest

from models.nmt.fast import evaluation_loss
from models.nmt.fast.training_loss import projected_cross_entropy

VOCABULARY, D = 57, 6


def reference(x, kernel, targets):
    logits = np.asarray(x, np.float64) @ np.asarray(kernel, np.float64)[:, None]
    top = logits.max(axis=-1, keepdims=True)
    normaliser = np.log(np.exp(logits - top).sum(axis=-1)) + top[..., 0]
    return normaliser - np.take_along_axis(logits, targets[..., None], -1)[..., 0]


@pytest.mark.parametrize("scale", [0.3, 2.0, 12.0, 40.0])
def test_equal_to_float64(scale):
    """Bounds from 3 to 8000: unshifted, shifted, and beyond what float32 holds."""
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(2, 5, 9, D)) * scale).astype("float32")
    kernel = (rng.normal(size=(2, D, VOCABULARY)) * scale).astype("float32")
    targets = rng.integers(0, VOCABULARY, (2, 5, 9))
    expected = reference(x, kernel, targets)
    found = np.asarray(evaluation_loss.cross_entropy(x, kernel, targets))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * scale**2)
    other = np.asarray(projected_cross_entropy(x, kernel, targets))
    np.testing.assert_allclose(found, other, rtol=2e-6, atol=2e-6 * scale**2)


@pytest.mark.parametrize("most", [3, 64])
def test_blocks_of_rows_that_do_not_fit_evenly(monkeypatch, most):
    monkeypatch.setattr(evaluation_loss, "_BLOCK", 7)
    monkeypatch.setattr(evaluation_loss, "_MOST_BLOCKS", most)
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 5, 9, D)).astype("float32")
    kernel = rng.normal(size=(2, D, VOCABULARY)).astype("float32")
    targets = rng.integers(0, VOCABULARY, (2, 5, 9))
    found = np.asarray(evaluation_loss.cross_entropy(x, kernel, targets))
    np.testing.assert_allclose(found, reference(x, kernel, targets), rtol=2e-6)


def test_a_bound_far_from_the_truth_is_not_trusted():
    """All logits lie far below the product of the norms."""
    x = np.full((1, 1, 3, D), 9.0, "float32")
    kernel = np.full((1, D, VOCABULARY), -9.0, "float32")
    kernel[:, :, 4] = -8.99
    targets = np.array([[[4, 4, 5]]])
    found = np.asarray(evaluation_loss.cross_entropy(x, kernel, targets))
    np.testing.assert_allclose(found, reference(x, kernel, targets), rtol=1e-4)


def test_an_even_distribution_costs_the_log_of_the_vocabulary():
    x = np.zeros((3, 2, 4, D), "float32")
    kernel = np.ones((3, D, VOCABULARY), "float32")
    found = np.asarray(
        evaluation_loss.cross_entropy(x, kernel, np.zeros((3, 2, 4), int))
    )
    np.testing.assert_allclose(found, np.log(VOCABULARY), rtol=1e-6)
