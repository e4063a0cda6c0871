"""Multi-head attention over packed rows."""

from __future__ import annotations

import keras
from keras import ops

from models.nmt.dropout import Dropout, keep_all
from models.nmt.projection import Projection
from models.nmt.sizes import Shape

MASKED = -1e9


def segment_mask(query_segments, key_segments, *, causal: bool = False):
    """Additive mask that keeps the sentences of a packed row apart.

    Args:
      query_segments: int ``[*lead, batch, Lq]``; 0 is padding.
      key_segments: int ``[*lead, batch, Lk]``.
      causal: Whether a position sees only itself and what is before it.

    Returns:
      float32 ``[*lead, batch, 1, Lq, Lk]``: 0 where attention is allowed,
      a large negative number elsewhere. A padding position sees the padding, so
      that no row of the softmax is empty.
    """
    allowed = ops.equal(
        ops.expand_dims(query_segments, -1), ops.expand_dims(key_segments, -2)
    )
    if causal:
        length = query_segments.shape[-1]
        past = ops.tril(ops.ones((length, length), dtype="bool"))
        allowed = ops.logical_and(allowed, past)
    mask = ops.where(allowed, 0.0, MASKED)
    return ops.expand_dims(mask, -3)


class Attention(keras.layers.Layer):
    """Multi-head attention.

    In the T5 block there are no biases and scores are not divided by
    sqrt(head_dim): the initialisation of the query projection absorbs it (Mesh
    TensorFlow's convention). The block of Vaswani et al. (2017) has and does both.

    Args:
      shape: The model's shape.
      lead: ``()`` or ``(stack,)``.
    """

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.heads, self.head_dim = shape.heads, shape.head_dim
        self.lead = lead
        d, inner = shape.d_model, shape.heads * shape.head_dim
        biased = shape.block == "vaswani"
        self.scale = shape.head_dim**-0.5 if biased else None
        query_stddev = d**-0.5 if biased else (d * shape.head_dim) ** -0.5

        def projection(inputs: int, outputs: int, stddev: float, name: str):
            return Projection(lead, inputs, outputs, stddev, biased=biased, name=name)

        self.query = projection(d, inner, query_stddev, "query")
        self.key = projection(d, inner, d**-0.5, "key")
        self.value = projection(d, inner, d**-0.5, "value")
        self.output_projection = projection(inner, d, inner**-0.5, "output")

    def build(self, input_shape=None) -> None:
        for layer in (self.query, self.key, self.value, self.output_projection):
            layer.build()

    def call(self, x, bias, memory=None, dropout: Dropout = keep_all):
        """Attends from ``x`` to ``memory``.

        Args:
          x: ``[*lead, batch, Lq, d]``.
          bias: Added to the scores, broadcast to ``[*lead, batch, heads, Lq, Lk]``.
          memory: ``[*lead, batch, Lk, d]``; by default ``x``: self-attention.
          dropout: Applied to the attention weights.

        Returns:
          ``[*lead, batch, Lq, d]``.
        """
        if memory is None:
            queries, keys, values = self._project(x, self.query, self.key, self.value)
        else:
            (queries,) = self._project(x, self.query)
            keys, values = self.project_memory(memory)
        return self._mix(queries, keys, values, bias, dropout)

    def project_memory(self, memory):
        """Keys and values, each ``[*lead, batch, heads, Lk, head_dim]``."""
        return self._project(memory, self.key, self.value)

    def _mix(self, queries, keys, values, bias, dropout: Dropout):
        if self.scale is not None:
            queries = queries * self.scale
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2))
        # Keras casts a layer's inputs, the bias too; the softmax stays in float32.
        scores = ops.cast(scores, "float32") + ops.cast(bias, "float32")
        weights = ops.softmax(scores, axis=-1)
        weights = ops.cast(dropout(weights), self.compute_dtype)
        mixed = ops.swapaxes(ops.matmul(weights, values), -2, -3)
        front = ops.shape(mixed)[:-2]
        merged = ops.reshape(mixed, (*front, self.heads * self.head_dim))
        return self.output_projection(merged)

    def _project(self, x, *projections: Projection):
        """Projections of ``x``, split into heads.

        Args:
          x: ``[*lead, batch, L, d]``.

        Returns:
          For each projection ``[*lead, batch, heads, L, head_dim]``.
        """
        front = ops.shape(x)[:-1]
        heads = (
            ops.reshape(p(x), (*front, self.heads, self.head_dim)) for p in projections
        )
        return [ops.swapaxes(each, -2, -3) for each in heads]
