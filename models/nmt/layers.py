"""The layers of encoder and decoder, and the table of token embeddings."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from models.nmt.attention import Attention
from models.nmt.dropout import Dropout, keep_all
from models.nmt.feedforward import FeedForward, ReluFeedForward
from models.nmt.projection import LayerNorm, RMSNorm
from models.nmt.sizes import Shape


class Embedding(keras.layers.Layer):
    """A table of token embeddings, of unit variance.

    Args:
      lead: ``()`` or ``(stack,)``.
      vocabulary_size: Rows.
      d: Columns.
    """

    def __init__(self, lead: tuple[int, ...], vocabulary_size: int, d: int, **kwargs):
        super().__init__(**kwargs)
        self.lead = lead
        self.vocabulary_size = vocabulary_size
        self.d = d
        self.stddev = 1.0

    def build(self, input_shape=None) -> None:
        self.table = self.add_weight(
            name="table",
            shape=(*self.lead, self.vocabulary_size, self.d),
            initializer="zeros",
        )

    def call(self, ids):
        """int ``[*lead, batch, length]`` -> ``[*lead, batch, length, d]``."""
        if self.lead:
            first = ops.arange(self.lead[0], dtype=ids.dtype) * self.vocabulary_size
            ids = ids + ops.reshape(first, (-1, 1, 1))
        # The reshape joins the tables of a stack; for a single model it still
        # matters: the gradient through it is dense, as Adafactor needs it.
        table = ops.reshape(ops.cast(self.table, self.compute_dtype), (-1, self.d))
        return ops.take(table, ids, axis=0)


def sinusoids(positions, d: int):
    """The position signal of Vaswani et al. (2017), section 3.5.

    Args:
      positions: int ``[...]``.
      d: Width; the first half are sines, the second cosines.

    Returns:
      float32 ``[..., d]``.
    """
    half = (d + 1) // 2
    wavelengths = 10_000.0 ** (np.arange(half) / max(half - 1, 1))
    positions = ops.expand_dims(ops.cast(positions, "float32"), -1)
    angles = positions / wavelengths.astype("float32")
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)[..., :d]


class EncoderLayer(keras.layers.Layer):
    """``x + attention(norm(x))``, then ``x + feed_forward(norm(x))``."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.attention_norm = make_norm(shape, lead, "attention_norm")
        self.attention = Attention(shape, lead, name="attention")
        self.feedforward_norm = make_norm(shape, lead, "feedforward_norm")
        self.feedforward = _make_feedforward(shape, lead)

    def build(self, input_shape=None) -> None:
        for layer in self._layers:
            layer.build()

    def call(self, x, bias, dropout: Dropout = keep_all):
        """``x``: ``[*lead, batch, length, d]``; ``bias`` as in `Attention`."""
        mixed = self.attention(self.attention_norm(x), bias, dropout=dropout)
        x = x + dropout(mixed)
        return x + dropout(self.feedforward(self.feedforward_norm(x), dropout=dropout))


class DecoderLayer(keras.layers.Layer):
    """Self-attention, attention to the encoder, feed-forward; each pre-normed."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.attention_norm = make_norm(shape, lead, "attention_norm")
        self.attention = Attention(shape, lead, name="attention")
        self.cross_norm = make_norm(shape, lead, "cross_norm")
        self.cross_attention = Attention(shape, lead, name="cross_attention")
        self.feedforward_norm = make_norm(shape, lead, "feedforward_norm")
        self.feedforward = _make_feedforward(shape, lead)

    def build(self, input_shape=None) -> None:
        for layer in self._layers:
            layer.build()

    def call(self, x, bias, encoded, cross_bias, dropout: Dropout = keep_all):
        """``x``: ``[*lead, batch, Lt, d]``, ``encoded``: ``[*lead, batch, Ls, d]``."""
        mixed = self.attention(self.attention_norm(x), bias, dropout=dropout)
        x = x + dropout(mixed)
        mixed = self.cross_attention(
            self.cross_norm(x), cross_bias, encoded, dropout=dropout
        )
        x = x + dropout(mixed)
        return x + dropout(self.feedforward(self.feedforward_norm(x), dropout=dropout))


def make_norm(shape: Shape, lead: tuple[int, ...], name: str) -> RMSNorm:
    """The norm of a block."""
    norm = LayerNorm if shape.block == "vaswani" else RMSNorm
    return norm(lead, shape.d_model, name=name)


def _make_feedforward(shape: Shape, lead: tuple[int, ...]):
    block = ReluFeedForward if shape.block == "vaswani" else FeedForward
    return block(shape, lead, name="feedforward")
