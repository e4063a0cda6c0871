"""T5's relative position bias: one scalar a head for each bucket of distances."""

from __future__ import annotations

import math

import keras
import numpy as np
from keras import ops

from models.nmt.sizes import RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE


def relative_buckets(
    query_length: int,
    key_length: int,
    *,
    bidirectional: bool,
    buckets: int = RELATIVE_BUCKETS,
    max_distance: int = RELATIVE_MAX_DISTANCE,
) -> np.ndarray:
    """Bucket of every (query, key) distance, as in T5 (Raffel et al. 2020, 2.1).

    Half of the buckets hold one distance each, the other half grow
    logarithmically up to ``max_distance``; a bidirectional (encoder) bias splits
    them between keys before and keys after the query.

    Returns:
      int32 ``[query_length, key_length]``, values in ``[0, buckets)``.
    """
    distance = np.arange(key_length)[None, :] - np.arange(query_length)[:, None]
    offset = np.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    # float32 as in T5, so that distances on a boundary fall on the same side.
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
    scale = np.float32(math.log(max_distance / exact))
    far = exact + (ratio / scale * (buckets - exact)).astype(np.int32)
    far = np.minimum(far, buckets - 1)
    return (offset + np.where(distance < exact, distance, far)).astype(np.int32)


class RelativeBias(keras.layers.Layer):
    """The bias added to attention scores, shared by all layers of one side.

    Args:
      heads: Number of attention heads.
      bidirectional: True in the encoder, False in the causal decoder.
      lead: ``()`` or ``(stack,)``, see `models.nmt.transformer`.
      stddev: Standard deviation that `Transformer.initialise` draws with.
    """

    def __init__(
        self,
        heads: int,
        *,
        bidirectional: bool,
        lead: tuple[int, ...],
        stddev: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.heads = heads
        self.bidirectional = bidirectional
        self.lead = lead
        self.stddev = stddev

    def build(self, input_shape=None) -> None:
        self.table = self.add_weight(
            name="table",
            shape=(*self.lead, RELATIVE_BUCKETS, self.heads),
            initializer="zeros",
        )

    def between(self, query_length: int, key_length: int):
        """Returns float32 ``[*lead, 1, heads, query_length, key_length]``."""
        buckets = relative_buckets(
            query_length, key_length, bidirectional=self.bidirectional
        )
        axis = len(self.lead)
        table = ops.cast(self.table, "float32")
        bias = ops.take(table, buckets.reshape(-1), axis=axis)
        # [*lead, Lq * Lk, heads] -> [*lead, heads, Lq, Lk]
        bias = ops.swapaxes(bias, -1, -2)
        bias = ops.reshape(bias, (*self.lead, self.heads, query_length, key_length))
        return ops.expand_dims(bias, axis)
