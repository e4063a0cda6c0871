"""What a person watches: speed against the machine's, norms, shares and epochs."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models.nmt.sizes import Shape

_PEAK_WIDTH = 1024
_PEAK_REPEATS = 5


def step_flops(
    shape: Shape, vocabulary_size: int, rows: int, lengths: tuple[int, int]
) -> float:
    """FLOPs of the matrix products of one training step of one model.

    A multiplication and an addition for each weight and position forward, twice
    that backward; the keys and values of the attention to the source are made at
    source positions. Lookups, norms and the optimizer are left out, as usual.

    Args:
      shape: The model's.
      vocabulary_size: Rows of the softmax table.
      rows: Packed rows of the batch.
      lengths: Source and target positions of a row; all are computed, useful or not.
    """
    source, target = lengths
    d, inner = shape.d_model, shape.heads * shape.head_dim
    feed_forward = (2 if shape.block == "vaswani" else 3) * d * shape.ff
    half = 2 * d * inner  # two of the four projections of an attention
    encoder = shape.enc_layers * (
        source * (2 * half + feed_forward) + 2 * inner * source * source
    )
    decoder = shape.dec_layers * (
        target * (3 * half + feed_forward)
        + source * half
        + 2 * inner * target * (target + source)
    )
    return 6.0 * rows * (encoder + decoder + target * d * vocabulary_size)


@functools.cache
def matmul_peak(precision: str) -> float:
    """FLOP/s of a large matrix product on this process's device, the best of a few.

    Args:
      precision: The Keras dtype policy of the training.
    """
    dtype = tf.bfloat16 if precision == "mixed_bfloat16" else tf.float32
    with tf.device(_device()):
        a = tf.random.stateless_normal((_PEAK_WIDTH, _PEAK_WIDTH), (0, 1))
        a = tf.cast(a, dtype)
        best = float("inf")
        for _ in range(_PEAK_REPEATS):
            started = time.perf_counter()
            tf.matmul(a, a)[0, 0].numpy()
            best = min(best, time.perf_counter() - started)
    return 2.0 * _PEAK_WIDTH**3 / best


def norms(stacked: Sequence[np.ndarray]) -> np.ndarray:
    """Euclidean norm of all weights of each model of a stack, ``[stack]``."""
    squares = [
        np.square(array.astype(np.float64)).reshape(len(array), -1).sum(axis=1)
        for array in stacked
    ]
    return np.sqrt(sum(squares))


def _device() -> str:
    kinds = ("TPU", "GPU", "CPU")
    return next(f"{kind}:0" for kind in kinds if tf.config.list_logical_devices(kind))
