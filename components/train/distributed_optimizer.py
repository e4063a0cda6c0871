"""Adafactor under `tf.distribute`."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import tensorflow as tf

from models.nmt.optimizer import Adafactor


class DistributedAdafactor(Adafactor):
    """The same update on every device, of the sum of the replicas' gradients."""

    def apply(
        self,
        grads: Sequence[tf.Tensor],
        trainable_variables: Sequence[keras.Variable] | None = None,
    ) -> None:
        """One update; in the replica context, or in none outside of a strategy."""
        variables = trainable_variables or self._trainable_variables
        self._check(grads, variables)
        tensors = [variable.value for variable in variables]
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            self.update(grads, tensors)
            return

        def on_each_device(
            strategy: tf.distribute.Strategy, summed: Sequence[tf.Tensor]
        ) -> None:
            # The first variable says which devices; in this scope an assignment to
            # any mirrored variable changes the copy of the device at hand.
            strategy.extended.update(
                tensors[0],
                lambda _, summed: self.update(summed, tensors),
                args=(summed,),
                group=False,
            )

        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, list(grads))
        context.merge_call(on_each_device, args=(summed,))
