"""Where training runs: a `tf.distribute` strategy by one word."""

from __future__ import annotations

import functools
import os
from typing import Literal

import tensorflow as tf

from components.engines import cluster
from models.errors import UserError

Name = Literal["default", "mirrored", "multi_worker", "tpu"]

_WORTH_SPLITTING = 128


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


def compiles_step(jit: Literal["auto", "on", "off"], name: Name) -> bool:
    """Whether XLA compiles a replica's training step.

    Without being told (``auto``): on one GPU. Not on a CPU, where TensorFlow's own
    products are as fast in float32 and up to twice as fast in bfloat16, and compiling
    takes about 10 s a size. Not on a TPU, whose strategy compiles on its own, nor under
    a mirrored or multi-worker strategy, whose variables live on several devices.

    Args:
      jit: Word of the configuration.
      name: Of the strategy.
    """
    if name != "default" or jit == "off":
        return False
    return jit == "on" or bool(tf.config.list_physical_devices("GPU"))


def use_threads(threads: int, *, widest: int, compiled: bool) -> None:
    """Shares the threads of this process out. Call it before TensorFlow runs anything.

    The products of a narrow model are too small to be split among threads; independent
    ones, such as the two of each projection's gradient, run beside each other.

    Args:
      threads: That the process may use.
      widest: Width d of its widest model.
      compiled: Whether XLA compiles the step, which then is one operation.
    """
    split = compiled or widest >= _WORTH_SPLITTING
    tf.config.threading.set_intra_op_parallelism_threads(threads if split else 1)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
