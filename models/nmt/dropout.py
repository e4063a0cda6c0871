"""Dropout whose masks are a function of seeds that the caller gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any
Dropout = Callable[[Tensor], Tensor]


def keep_all(x: Tensor) -> Tensor:
    """No dropout."""
    return x


def dropout(rate: float, seeds: Tensor) -> Dropout:
    """Dropout for one pass through a model or a stack of models.

    Args:
      rate: Share of the values that become 0; the others grow by ``1 / (1 - rate)``.
      seeds: int32 ``[*lead]``, one a model, others for every step and device. A
        model's masks are a function of its own seed and of how often the result has
        been called: they depend neither on the rest of the stack nor on a restart.

    Returns:
      ``[*lead, ...] -> [*lead, ...]``; each call has masks of its own.
    """
    stacked = len(seeds.shape) > 0
    generators = [_Seeds(seed) for seed in (ops.unstack(seeds) if stacked else [seeds])]

    def drop(x: Tensor) -> Tensor:
        shape = ops.shape(x)[len(seeds.shape) :]
        noise = [keras.random.uniform(shape, seed=one) for one in generators]
        kept = (ops.stack(noise) if stacked else noise[0]) >= rate
        return ops.where(kept, x / (1.0 - rate), ops.zeros_like(x))

    return drop


class _Seeds(keras.random.SeedGenerator):
    """Keras's random functions accept a generator: this one has no state of its own
    but a count of the calls while a step is traced."""

    def __init__(self, seed: Tensor):
        # The base class would make a variable, which a compiled step cannot.
        self._seed = seed
        self._calls = 0

    def next(self, ordered: bool = True) -> Tensor:
        self._calls += 1
        dtype = "uint32" if keras.backend.backend() == "jax" else "int32"
        pair = [ops.cast(self._seed, dtype), ops.cast(self._calls, dtype)]
        return ops.stack(pair)
