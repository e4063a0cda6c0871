"""Dropout whose masks are a function of a seed that the caller gives."""

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


def dropout(rate: float, seed: Tensor) -> Dropout:
    """Dropout for one pass through a model.

    Args:
      rate: Share of the values that become 0; the others grow by ``1 / (1 - rate)``.
      seed: int32 scalar, another one for every step and device. The masks are a
        function of it and of how often the result has been called, so a run that
        resumes draws what an uninterrupted one would have drawn.

    Returns:
      Tensor -> tensor; each call has a mask of its own.
    """
    seeds = _Seeds(seed)

    def drop(x: Tensor) -> Tensor:
        return keras.random.dropout(x, rate, seed=seeds)

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
