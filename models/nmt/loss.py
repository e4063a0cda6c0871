"""Per-token cross-entropy in nats, as sums and counts."""

from __future__ import annotations

from keras import ops


def token_cross_entropy(logits, target_ids):
    """``-ln softmax(logits)[target]``, in float32.

    Args:
      logits: ``[..., length, vocabulary]``.
      target_ids: int ``[..., length]``.

    Returns:
      float32 ``[..., length]``, nats; padding positions are not masked.
    """
    logits = ops.cast(logits, "float32")
    top = ops.stop_gradient(ops.max(logits, axis=-1, keepdims=True))
    shifted = logits - top
    normaliser = ops.log(ops.sum(ops.exp(shifted), axis=-1))
    chosen = ops.take_along_axis(shifted, ops.expand_dims(target_ids, -1), axis=-1)
    return normaliser - ops.squeeze(chosen, -1)
