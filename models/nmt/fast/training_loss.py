"""The cross-entropy of the decoder's output, which keeps no logits for its gradient."""

from __future__ import annotations

import math
from typing import Any

from keras import ops

Tensor = Any


def projected_cross_entropy(
    x: Tensor, kernel: Tensor, target_ids: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """`models.nmt.loss.token_cross_entropy` of ``x @ kernel``, with its own gradient.

    With tiny models most of a step goes into passes over the logits, which are far
    larger than anything else. Automatic differentiation makes a dozen of them, one
    of which scatters into an array of the logits' size. Written by hand, the
    probabilities are never normalised (the factor goes to the narrow side of each
    product) and the scatter has the size of ``x``.

    Args:
      x: ``[*lead, batch, length, d]``, the decoder's normed output.
      kernel: ``[*lead, d, vocabulary]`` in the same dtype.
      target_ids: int ``[*lead, batch, length]``.
      label_smoothing: As in `token_cross_entropy`.

    Returns:
      float32 ``[*lead, batch, length]``, nats.
    """
    d, vocabulary = kernel.shape[-2:]
    stack = math.prod(kernel.shape[:-2])
    flat_kernel = ops.reshape(kernel, (stack, d, vocabulary))
    rows = ops.reshape(x, (stack, -1, d))
    targets = ops.reshape(target_ids, (stack, -1))
    losses = _rows_cross_entropy(rows, flat_kernel, targets)
    if label_smoothing:
        # Smoothing adds the target's logit and takes away the mean of all of them:
        # the product with the mean column.
        even = ops.mean(flat_kernel, axis=-1, keepdims=True)
        excess = _columns(flat_kernel, targets) - ops.swapaxes(even, -1, -2)
        excess = ops.cast(rows, "float32") * ops.cast(excess, "float32")
        losses = losses + label_smoothing * ops.sum(excess, axis=-1)
    return ops.reshape(losses, ops.shape(target_ids))


def _columns(kernel, targets):
    """The column of each target, ``[stack, rows, d]``."""
    stack, d, vocabulary = kernel.shape
    by_target = ops.reshape(ops.swapaxes(kernel, -1, -2), (-1, d))
    wanted = ops.take(by_target, _cells(targets, vocabulary), axis=0)
    return ops.reshape(wanted, (stack, -1, d))


def _cells(targets, vocabulary: int):
    """Rows of the targets in the joined tables of a stack, ``[stack * rows]``."""
    first = ops.arange(targets.shape[0], dtype=targets.dtype) * vocabulary
    return ops.reshape(targets + ops.expand_dims(first, -1), (-1,))


def _rows_cross_entropy(rows, kernel, targets):
    """``[stack, rows, d]``, ``[stack, d, v]``, ``[stack, rows]`` -> nats."""
    stack, d, vocabulary = kernel.shape
    cells = _cells(targets, vocabulary)

    @ops.custom_gradient
    def cross_entropy(rows, kernel):
        dtype = rows.dtype
        wanted = _columns(kernel, targets)
        exponentials, top, total = _exponentials(ops.matmul(rows, kernel))
        products = ops.cast(rows, "float32") * ops.cast(wanted, "float32")
        chosen = ops.sum(products, axis=-1, keepdims=True)
        nats = ops.squeeze(ops.log(total) + top - chosen, -1)

        def gradient(*positional, upstream=None):
            weight = ops.expand_dims(_upstream(positional, upstream), -1)
            share = ops.cast(weight / total, dtype)
            weight = ops.cast(weight, dtype)
            expected = ops.matmul(exponentials, ops.swapaxes(kernel, -1, -2))
            to_rows = expected * share - wanted * weight
            to_kernel = ops.matmul(ops.swapaxes(rows * share, -1, -2), exponentials)
            seen = ops.segment_sum(
                ops.reshape(rows * weight, (-1, d)), cells, stack * vocabulary
            )
            seen = ops.reshape(seen, (stack, vocabulary, d))
            return to_rows, to_kernel - ops.swapaxes(seen, -1, -2)

        return nats, gradient

    return cross_entropy(rows, kernel)


def _upstream(positional: tuple, named: Tensor) -> Tensor:
    """TensorFlow and JAX pass the upstream gradient by position, PyTorch by name."""
    return positional[0] if named is None else named


def _exponentials(logits):
    """``exp(logits - top)`` in their dtype; float32 ``top`` and their sum, too."""
    logits32 = ops.cast(logits, "float32")
    top = ops.max(logits32, axis=-1, keepdims=True)
    exponentials = ops.exp(logits32 - top)
    total = ops.sum(exponentials, axis=-1, keepdims=True)
    return ops.cast(exponentials, logits.dtype), top, total
