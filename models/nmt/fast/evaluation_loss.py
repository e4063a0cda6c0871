"""Teacher-forced losses without a gradient: what evaluation needs.

With small models most of the time goes into passes over the logits. The largest logit
of a position, which keeps its exponentials finite, is one pass more than needed: by
Cauchy and Schwarz no logit is larger than the product of two norms, and a shift by that
bound goes into the matrix product. Where the bound is too far from the truth for
float32, the exact maximum is taken after all.
"""

from __future__ import annotations

import math
from typing import Any

from keras import ops

Tensor = Any

# exp(70) times any vocabulary is finite; a sum above e^-46 has lost nothing that counts
# to underflow, whose terms are below e^-87.
_TOP = 70.0
_LEAST = 1e-20
_BLOCK, _MOST_BLOCKS = 128, 64


def cross_entropy(x: Tensor, kernel: Tensor, target_ids: Tensor) -> Tensor:
    """``-ln softmax(x @ kernel)[target]``, in float32; has no useful gradient.

    Args:
      x: ``[*lead, batch, length, d]``, the decoder's normed output.
      kernel: ``[*lead, d, vocabulary]``.
      target_ids: int ``[*lead, batch, length]``.

    Returns:
      float32 ``[*lead, batch, length]``, nats.
    """
    d, vocabulary = kernel.shape[-2:]
    stack = math.prod(kernel.shape[:-2])
    kernel = ops.cast(ops.reshape(kernel, (stack, d, vocabulary)), "float32")
    rows = ops.cast(ops.reshape(x, (stack, -1, d)), "float32")
    first = ops.arange(stack, dtype="int32") * vocabulary
    targets = ops.cast(ops.reshape(target_ids, (stack, -1)), "int32") + first[:, None]
    by_target = ops.reshape(ops.swapaxes(kernel, -1, -2), (-1, d))
    wanted = ops.reshape(
        ops.take(by_target, ops.reshape(targets, (-1,)), axis=0), ops.shape(rows)
    )
    chosen = ops.sum(rows * wanted, axis=-1)
    normaliser = _log_sum_exp(rows, kernel)
    return ops.reshape(normaliser - chosen, ops.shape(target_ids))


def _log_sum_exp(rows: Tensor, kernel: Tensor) -> Tensor:
    """``log sum exp(rows @ kernel)``: ``[stack, rows, d]``, ``[stack, d, v]`` ->
    ``[stack, rows]``."""
    largest = ops.max(ops.sqrt(ops.sum(ops.square(kernel), axis=1)), axis=-1)
    norms = ops.sqrt(ops.sum(ops.square(rows), axis=-1))
    shift = ops.maximum(norms * largest[:, None] - _TOP, 0.0)
    total = _sum_exp(rows, kernel, shift)
    return ops.cond(
        ops.all(total > _LEAST),
        lambda: ops.log(total) + shift,
        lambda: _exact(rows, kernel),
    )


def _sum_exp(rows: Tensor, kernel: Tensor, shift: Tensor) -> Tensor:
    """``sum exp(rows @ kernel - shift)``; the shift is one more column.

    A block of rows at a time, so that its logits are still in the processor's cache
    when the next pass reads them.
    """
    rows = ops.concatenate([rows, -shift[:, :, None]], axis=-1)
    kernel = ops.concatenate([kernel, ops.ones_like(kernel[:, :1])], axis=1)
    count = rows.shape[1]
    block = max(_BLOCK, math.ceil(count / _MOST_BLOCKS))
    sums = [
        ops.sum(ops.exp(ops.matmul(rows[:, first : first + block], kernel)), axis=-1)
        for first in range(0, count, block)
    ]
    return ops.concatenate(sums, axis=1)


def _exact(rows: Tensor, kernel: Tensor) -> Tensor:
    logits = ops.matmul(rows, kernel)
    top = ops.max(logits, axis=-1, keepdims=True)
    total = ops.sum(ops.exp(logits - top), axis=-1)
    return ops.log(total) + ops.squeeze(top, -1)
