"""The feed-forward blocks of the two families."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from models.nmt.dropout import Dropout, keep_all
from models.nmt.projection import Projection
from models.nmt.sizes import Shape

Tensor = Any


class FeedForward(keras.layers.Layer):
    """``down(gelu(gate(x)) * up(x))``: three matrices of d x ff, no biases (T5 1.1,
    Shazeer 2020)."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        d, ff = shape.d_model, shape.ff
        self.gate = Projection(lead, d, ff, d**-0.5, name="gate")
        self.up = Projection(lead, d, ff, d**-0.5, name="up")
        self.down = Projection(lead, ff, d, ff**-0.5, name="down")

    def build(self, input_shape=None) -> None:
        for layer in (self.gate, self.up, self.down):
            layer.build()

    def call(self, x, dropout: Dropout = keep_all):
        """``[*lead, batch, length, d]``, same shape out."""
        return self.down(dropout(gelu(self.gate(x)) * self.up(x)))


class ReluFeedForward(keras.layers.Layer):
    """``down(relu(up(x)))`` with biases ([N] App. C, Vaswani et al. 2017)."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        d, ff = shape.d_model, shape.ff
        self.up = Projection(lead, d, ff, d**-0.5, biased=True, name="up")
        self.down = Projection(lead, ff, d, ff**-0.5, biased=True, name="down")

    def build(self, input_shape=None) -> None:
        for layer in (self.up, self.down):
            layer.build()

    def call(self, x, dropout: Dropout = keep_all):
        """``[*lead, batch, length, d]``, same shape out."""
        return self.down(dropout(ops.relu(self.up(x))))


def gelu(x: Tensor) -> Tensor:
    """The tanh approximation of GELU (Hendrycks & Gimpel 2016), as in T5 1.1.

    ``(1 + tanh z) / 2`` is ``sigmoid(2 z)``: the same function in fewer passes over
    memory. In float32 whatever the dtype, as bfloat16 is slow on CPUs but for products.
    """
    x32 = ops.cast(x, "float32")
    slope = 2.0 * math.sqrt(2.0 / math.pi)
    z = slope * x32 * (1.0 + 0.044715 * ops.square(x32))
    return ops.cast(x32 * ops.sigmoid(z), x.dtype)
