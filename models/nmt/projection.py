"""Projections and norms, for one model or a stack of them."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from models.nmt.chains import chain, the_upstream


def project(x, kernel):
    """``[*lead, ..., d] @ [*lead, d, f] -> [*lead, ..., f]``.

    All positions of a model become the rows of one matrix, so that a stack of
    models costs one batched matrix product and a single model a plain one.
    """
    lead = tuple(kernel.shape[:-2])
    rows = ops.reshape(x, (*lead, -1, kernel.shape[-2]))
    middle = ops.shape(x)[len(lead) : -1]
    return ops.reshape(ops.matmul(rows, kernel), (*lead, *middle, kernel.shape[-1]))


class Projection(keras.layers.Layer):
    """A matrix, and a bias where asked for.

    Args:
      lead: ``()`` or ``(stack,)``.
      inputs, outputs: Width of the input and of the output.
      stddev: Standard deviation that `Transformer.initialise` draws with.
      biased: Whether a bias is added; it starts at 0.
    """

    def __init__(
        self,
        lead: tuple[int, ...],
        inputs: int,
        outputs: int,
        stddev: float,
        *,
        biased: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.lead = lead
        self.kernel_shape = (*lead, inputs, outputs)
        self.stddev = stddev
        self.biased = biased

    def build(self, input_shape=None) -> None:
        self.kernel = self.add_weight(
            name="kernel", shape=self.kernel_shape, initializer="zeros"
        )
        if self.biased:
            self.bias = self.add_weight(
                name="bias",
                shape=(*self.lead, self.kernel_shape[-1]),
                initializer="zeros",
            )

    def call(self, x):
        """``[*lead, ..., inputs] -> [*lead, ..., outputs]``."""
        return project_together(x, [self])


def project_together(x, projections: Sequence[Projection]):
    """The outputs of several projections of ``x`` side by side, as one product.

    Wide products run nearer to the machine's peak than narrow ones, and with small
    models there are fewer operations to launch.
    """
    first = projections[0]
    kernels = [projection.kernel for projection in projections]
    product = project(x, ops.cast(_side_by_side(kernels), first.compute_dtype))
    if not first.biased:
        return product
    biases = _side_by_side([projection.bias for projection in projections])
    biases = ops.cast(biases, first.compute_dtype)
    return product + along_last_axis(biases, first.lead, product)


def along_last_axis(vector, lead: tuple[int, ...], x):
    """``[*lead, width]``, shaped so that it broadcasts over ``[*lead, ..., width]``."""
    middle = (1,) * (len(x.shape) - len(lead) - 1)
    return ops.reshape(vector, (*lead, *middle, vector.shape[-1]))


def _side_by_side(parts):
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)


class RMSNorm(keras.layers.Layer):
    """Scale-only root-mean-square norm (Zhang & Sennrich 2019), as in T5.

    Computed in float32 whatever the compute dtype.
    """

    def __init__(self, lead: tuple[int, ...], width: int, **kwargs):
        super().__init__(**kwargs)
        self.lead = lead
        self.width = width

    def build(self, input_shape=None) -> None:
        self.scale = self.add_weight(
            name="scale", shape=(*self.lead, self.width), initializer="ones"
        )

    def call(self, x):
        """``[*lead, ..., width]``, same shape out."""
        scale = ops.cast(self.scale, "float32")
        normed = _rms_norm(x, along_last_axis(scale, self.lead, x))
        return ops.cast(normed, self.compute_dtype)


class LayerNorm(RMSNorm):
    """Layer norm with scale and shift (Ba et al. 2016); moments in float32."""

    def build(self, input_shape=None) -> None:
        super().build()
        self.shift = self.add_weight(
            name="shift", shape=(*self.lead, self.width), initializer="zeros"
        )

    def call(self, x):
        """``[*lead, ..., width]``, same shape out."""
        x32 = ops.cast(x, "float32")
        centred = x32 - ops.mean(x32, axis=-1, keepdims=True)
        shift = ops.cast(self.shift, self.compute_dtype)
        return super().call(centred) + along_last_axis(shift, self.lead, x)


@ops.custom_gradient
def _rms_norm(x, scale):
    """``x / rms(x) * scale`` with a gradient of its own.

    Args:
      x: ``[*lead, ..., width]``.
      scale: float32, broadcastable to ``x``; 1 along the axes between.

    Returns:
      As ``x``.
    """
    normed, inverse = _normed(x, scale)

    def gradient(*positional, upstream=None):
        upstream = the_upstream(positional, upstream)
        return _norm_gradient(x, scale, inverse, upstream)

    return normed, gradient


@chain
def _normed(x, scale):
    x32 = ops.cast(x, "float32")
    mean_square = ops.mean(ops.square(x32), axis=-1, keepdims=True)
    inverse = ops.rsqrt(mean_square + 1e-6)
    return ops.cast(x32 * inverse * scale, x.dtype), inverse


@chain
def _norm_gradient(x, scale, inverse, upstream):
    g = ops.cast(upstream, "float32")
    direction = ops.cast(x, "float32") * inverse
    scaled = g * scale
    along = ops.mean(scaled * direction, axis=-1, keepdims=True)
    to_x = ops.cast(inverse * (scaled - along * direction), x.dtype)
    between = [axis for axis, size in enumerate(scale.shape[:-1]) if size == 1]
    to_scale = ops.sum(g * direction, axis=between, keepdims=True)
    return to_x, to_scale
