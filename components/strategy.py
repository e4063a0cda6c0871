"""Where training runs: a `tf.distribute` strategy by one word."""

from __future__ import annotations

import functools
import os
from typing import Literal

import tensorflow as tf

from components import cluster
from models.errors import UserError

Name = Literal["default", "mirrored", "multi_worker", "tpu"]

_STEPS_THAT_PAY = 1000
_NARROW, _WIDE = 64, 192


@functools.cache
def build(name: Name) -> tf.distribute.Strategy:
    """The strategy of that name, one object a process.

    * ``default``: one device, this process.
    * ``mirrored``: all GPUs of this machine (or its logical CPU devices).
    * ``multi_worker``: several machines, described by ``TF_CONFIG``.
    * ``tpu``: the TPU that the environment names (``TPU_NAME``, or the local VM).

    Raises:
      UserError: The environment lacks what the strategy needs.
    """
    cluster.check(name)
    if name == "default":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU")
        devices = devices or tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    if name == "multi_worker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    return _tpu_strategy()


def _tpu_strategy() -> tf.distribute.Strategy:
    address = os.environ.get("TPU_NAME", "local")
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(address)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"train.strategy: the TPU {address!r} does not answer: {reason}; check "
            "TPU_NAME, and that TensorFlow is the build for TPUs"
        ) from None


def part_to_compile(
    name: Name, *, steps: int, width: int, precision: str
) -> Literal["step", "chains", "nothing"]:
    """What XLA should compile of a replica's step.

    Nothing on a TPU, whose strategy compiles on its own, nor under a mirrored or
    multi-worker strategy, whose variables live on several devices. On one CPU
    (``benchmarks/training_step.py``, ``benchmarks/training_text.py``) a step of width
    64 or 128 takes .65-.9 of the time, and the program 3 s more to compile, which
    short trials do not repay; one of the quickstart's models (widths 12-28) gains
    nothing. The products of wide models, and all of those in bfloat16, oneDNN makes
    faster than XLA; there only the optimizer's update is worth it, a dozen passes over
    the weights in one.

    Args:
      name: Of the strategy.
      steps: Of a trial.
      width: The model's, d.
      precision: Keras dtype policy.
    """
    if name != "default":
        return "nothing"
    if tf.config.list_physical_devices("GPU"):
        return "step"
    if steps < _STEPS_THAT_PAY or width < _NARROW:
        return "nothing"
    return "step" if precision == "float32" and width < _WIDE else "update"
