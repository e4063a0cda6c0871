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


def jit_pays(name: Name, *, steps: int, precision: str) -> bool:
    """Whether to compile a replica's step with XLA ourselves.

    Not on a TPU, whose strategy compiles on its own; not under a mirrored or
    multi-worker strategy, whose variables live on several devices. On one CPU a step
    takes .7-.85 of the time, and the program 3 s more to compile, once for all groups
    of a size (`components.compiled`): it pays from about a thousand steps on. XLA's
    products gain nothing from bfloat16 there, those of oneDNN do.

    Args:
      name: Of the strategy.
      steps: Of a trial.
      precision: Keras dtype policy.
    """
    if name != "default":
        return False
    if tf.config.list_physical_devices("GPU"):
        return True
    return precision == "float32" and steps >= _STEPS_THAT_PAY
