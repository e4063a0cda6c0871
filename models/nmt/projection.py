"""Projections and norms, for one model or a stack of them."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

Tensor = Any


def project(x: Tensor, kernel: Tensor) -> Tensor:
    """``[*lead, ..., d] @ [*lead, d, f] -> [*lead, ..., f]``.

    All positions of a model become the rows of one matrix, so that a stack of
    models costs one batched matrix product and a single model a plain one.
    """
    lead = tuple(kernel.shape[:-2])
    rows = ops.reshape(x, (*lead, -1, kernel.shape[-2]))
    middle = ops.shape(x)[len(lead) : -1]
    return ops.reshape(ops.matmul(rows, kernel), (*lead, *middle, kernel.shape[-1]))


def along_last_axis(vector: Tensor, lead: tuple[int, ...], x: Tensor) -> Tensor:
    """``[*lead, width]``, shaped so that it broadcasts over ``[*lead, ..., width]``."""
    middle = (1,) * (len(x.shape) - len(lead) - 1)
    return ops.reshape(vector, (*lead, *middle, vector.shape[-1]))


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
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.lead = lead
        self.kernel_shape = (*lead, inputs, outputs)
        self.stddev = stddev
        self.biased = biased

    def build(self, input_shape: Any = None) -> None:
        self.kernel = self.add_weight(
            name="kernel", shape=self.kernel_shape, initializer="zeros"
        )
        if self.biased:
            self.bias = self.add_weight(
                name="bias",
                shape=(*self.lead, self.kernel_shape[-1]),
                initializer="zeros",
            )

    def call(self, x: Tensor) -> Tensor:
        """``[*lead, ..., inputs] -> [*lead, ..., outputs]``."""
        product = project(x, ops.cast(self.kernel, self.compute_dtype))
        if not self.biased:
            return product
        bias = ops.cast(self.bias, self.compute_dtype)
        return product + along_last_axis(bias, self.lead, product)


class RMSNorm(keras.layers.Layer):
    """Scale-only root-mean-square norm (Zhang & Sennrich 2019), as in T5.

    Computed in float32 whatever the compute dtype.
    """

    def __init__(self, lead: tuple[int, ...], width: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.lead = lead
        self.width = width

    def build(self, input_shape: Any = None) -> None:
        self.scale = self.add_weight(
            name="scale", shape=(*self.lead, self.width), initializer="ones"
        )

    def call(self, x: Tensor) -> Tensor:
        """``[*lead, ..., width]``, same shape out."""
        x = ops.cast(x, "float32")
        mean_square = ops.mean(ops.square(x), axis=-1, keepdims=True)
        scale = along_last_axis(ops.cast(self.scale, "float32"), self.lead, x)
        return ops.cast(x * ops.rsqrt(mean_square + 1e-6) * scale, self.compute_dtype)


class LayerNorm(RMSNorm):
    """Layer norm with scale and shift (Ba et al. 2016); moments in float32."""

    def build(self, input_shape: Any = None) -> None:
        super().build()
        self.shift = self.add_weight(
            name="shift", shape=(*self.lead, self.width), initializer="zeros"
        )

    def call(self, x: Tensor) -> Tensor:
        """``[*lead, ..., width]``, same shape out."""
        x = ops.cast(x, "float32")
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        shift = ops.cast(self.shift, self.compute_dtype)
        return super().call(centred) + along_last_axis(shift, self.lead, x)
