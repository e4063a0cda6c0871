"""The feed-forward blocks of the two families."""

from __future__ import annotations

import math

import keras
from keras import ops

from models.nmt.chains import chain, the_upstream
from models.nmt.dropout import Dropout, keep_all
from models.nmt.projection import Projection
from models.nmt.sizes import Shape


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
        return self.down(dropout(gated_gelu(self.gate(x), self.up(x))))


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


@ops.custom_gradient
def gated_gelu(gate, up):
    """``gelu(gate) * up``, by the tanh approximation (Hendrycks & Gimpel 2016), as in
    T5 1.1.

    ``(1 + tanh z) / 2`` is ``sigmoid(2 z)``: the same function in fewer passes. Its
    gradient is taken from the inputs alone; automatic differentiation would keep five
    arrays of their size.

    Args:
      gate, up: ``[..., ff]`` of one dtype; computed in float32.

    Returns:
      ``[..., ff]`` of that dtype.
    """

    def gradient(*positional, upstream=None):
        return _gated_gelu_gradient(gate, up, the_upstream(positional, upstream))

    return _gated_gelu(gate, up), gradient


_LINEAR = 2.0 * math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715 * _LINEAR


@chain
def _gated_gelu(gate, up):
    x, y = ops.cast(gate, "float32"), ops.cast(up, "float32")
    return ops.cast(
        x * ops.sigmoid(x * (_LINEAR + _CUBIC * ops.square(x))) * y, gate.dtype
    )


@chain
def _gated_gelu_gradient(gate, up, upstream):
    x, y, g = (ops.cast(array, "float32") for array in (gate, up, upstream))
    square = ops.square(x)
    share = ops.sigmoid(x * (_LINEAR + _CUBIC * square))
    gelu = x * share
    slope = share + gelu * (1.0 - share) * (_LINEAR + 3.0 * _CUBIC * square)
    return ops.cast(g * y * slope, gate.dtype), ops.cast(g * gelu, up.dtype)
