"""Adafactor under `tf.distribute`."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import tensorflow as tf

from models.nmt.optimizer import Adafactor


class DistributedAdafactor(Adafactor):
    """The same update on every device, of the sum of the replicas' gradients.

    Keras's own way goes from device to device once for each variable; Adafactor
    updates many variables at once, so it does so once for all of them.
    """

    def _backend_update_step(self, grads, trainable_variables, learning_rate) -> None:
        """Keras's hook; in the replica context, or in none outside of a strategy."""
        tensors = [
            variable.value if isinstance(variable, keras.Variable) else variable
            for variable in trainable_variables
        ]
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            self.update_together(grads, tensors, learning_rate)
            return
        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, list(grads))

        def update(_, summed: Sequence[tf.Tensor]) -> None:
            self.update_together(summed, tensors, learning_rate)

        def on_each_device(
            strategy: tf.distribute.Strategy, summed: Sequence[tf.Tensor]
        ) -> None:
            # The first variable says which devices; in this scope an assignment to
            # any mirrored variable changes the copy of the device at hand.
            strategy.extended.update(tensors[0], update, args=(summed,), group=False)

        tf.__internal__.distribute.interim.maybe_merge_call(
            on_each_device, context.strategy, summed
        )
