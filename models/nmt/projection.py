"""Bias-free projections and scale-only norms, for one model or a stack of them."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops


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
    """A matrix and nothing else.

    Args:
      lead: ``()`` or ``(stack,)``.
      inputs, outputs: Width of the input and of the output.
      stddev: Standard deviation that `Transformer.initialise` draws with.
    """

    def __init__(
        self, lead: tuple[int, ...], inputs: int, outputs: int, stddev: float, **kwargs
    ):
        super().__init__(**kwargs)
        self.kernel_shape = (*lead, inputs, outputs)
        self.stddev = stddev

    def build(self, input_shape=None) -> None:
        self.kernel = self.add_weight(
            name="kernel", shape=self.kernel_shape, initializer="zeros"
        )

    def call(self, x):
        """``[*lead, ..., inputs] -> [*lead, ..., outputs]``."""
        return project(x, ops.cast(self.kernel, self.compute_dtype))


def project_together(x, projections: Sequence[Projection]):
    """The outputs of several projections of ``x`` side by side, as one product.

    Wide products run nearer to the machine's peak than narrow ones, and with small
    models there are fewer operations to launch.
    """
    if len(projections) == 1:
        return projections[0](x)
    kernels = [projection.kernel for projection in projections]
    dtype = projections[0].compute_dtype
    return project(x, ops.cast(ops.concatenate(kernels, axis=-1), dtype))


class RMSNorm(keras.layers.Layer):
    """Scale-only root-mean-square norm (Zhang & Sennrich 2019), as in T5.

    The mean square is taken in float32 whatever the compute dtype.
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
        """``[*lead, batch, length, width]``, same shape out."""
        x32 = ops.cast(x, "float32")
        mean_square = ops.mean(ops.square(x32), axis=-1, keepdims=True)
        normed = ops.cast(x32 * ops.rsqrt(mean_square + 1e-6), self.compute_dtype)
        scale = ops.reshape(self.scale, (*self.lead, 1, 1, self.width))
        return normed * ops.cast(scale, self.compute_dtype)
