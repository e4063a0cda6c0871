"""Per-token cross-entropy in nats."""

from __future__ import annotations

from typing import Any

from keras import ops

Tensor = Any


def token_cross_entropy(
    logits: Tensor, target_ids: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """``-ln softmax(logits)[target]``, in float32.

    Args:
      logits: ``[..., length, vocabulary]``.
      target_ids: int ``[..., length]``.
      label_smoothing: Share of the target distribution that is spread evenly over
        the vocabulary (Szegedy et al. 2016; [N] App. C). For training only.

    Returns:
      float32 ``[..., length]``, nats; padding positions are not masked.
    """
    logits = ops.cast(logits, "float32")
    top = ops.stop_gradient(ops.max(logits, axis=-1, keepdims=True))
    shifted = logits - top
    normaliser = ops.log(ops.sum(ops.exp(shifted), axis=-1))
    chosen = ops.take_along_axis(shifted, ops.expand_dims(target_ids, -1), axis=-1)
    nats = normaliser - ops.squeeze(chosen, -1)
    if label_smoothing:
        nats += label_smoothing * ops.squeeze(chosen, -1)
        nats -= label_smoothing * ops.mean(shifted, axis=-1)
    return nats
