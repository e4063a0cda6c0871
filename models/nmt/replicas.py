"""Updates of variables under `tf.distribute`; only for the TensorFlow backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

Update = Callable[[Sequence, Sequence, object], None]


def update(
    apply: Update, gradients: Sequence, variables: Sequence, learning_rate
) -> None:
    """Calls ``apply(gradients, variables, learning_rate)`` on every device.

    Gradients are summed over the replicas first, so that each device makes the same
    update. Unlike Keras's own way, which comes here once for every variable, ``apply``
    sees all of them.
    """
    tensors = [
        variable.value if isinstance(variable, keras.Variable) else variable
        for variable in variables
    ]
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        apply(gradients, tensors, learning_rate)
        return
    summed = context.all_reduce(tf.distribute.ReduceOp.SUM, list(gradients))

    def on_each_device(strategy, summed) -> None:
        # The first variable says which devices; in this scope an assignment to any
        # mirrored variable changes the copy of the device at hand.
        strategy.extended.update(
            tensors[0],
            lambda _, summed: apply(summed, tensors, learning_rate),
            args=(summed,),
            group=False,
        )

    tf.__internal__.distribute.interim.maybe_merge_call(
        on_each_device, context.strategy, summed
    )
