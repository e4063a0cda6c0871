"""The models of a group of trials, with their compiled training step and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from components.engines import strategy as strategies
from components.engines.cross_entropy import Scorer, SentenceLosses, TestSet
from components.train import telemetry
from components.train.config import Config
from components.train.distributed_optimizer import DistributedAdafactor
from components.train.sweep_data import micro_batches
from models.nmt.dropout import Dropout, keep_all
from models.nmt.dropout import dropout as make_dropout
from models.nmt.optimizer import InverseSquareRoot
from models.nmt.sizes import ParameterCount, Shape, get_shape
from models.nmt.transformer import Transformer


class ModelStack:
    """Models of one size that train side by side, their optimizer and compiled step.

    Args:
      config: How to train.
      shape: Shape of every model of the stack.
      vocabulary_size: Pieces in the vocabulary.
      seeds: Seed of each trial of the stack.
    """

    def __init__(
        self,
        config: Config,
        shape: Shape,
        vocabulary_size: int,
        seeds: Sequence[int],
    ):
        self.config, self.shape = config, shape
        self.strategy = strategies.build(config.strategy)
        self.stack = len(seeds)
        self._seeds = _as_int32(seeds)
        with self.strategy.scope():
            self.model = self._new_model(vocabulary_size, config.precision)
            self.model.initialise(seeds)
            self.optimizer = DistributedAdafactor(
                InverseSquareRoot(config.learning_rate, config.warmup_steps),
                stacked=True,
                momentum=config.momentum,
                ema_decay=config.ema_decay,
            )
            self.optimizer.build(self.model.trainable_variables)
            # What is evaluated and kept: in float32, and the average where asked for.
            self._final_model = self.model
            if config.ema_decay or config.precision != "float32":
                self._final_model = self._new_model(vocabulary_size, "float32")
        self.scorer = Scorer(self._final_model)
        # Without AutoGraph, whose translation of our sources and Keras's takes as long
        # as all the rest of the tracing: loops are written out below.
        self._replica_step = tf.function(
            self._step,
            jit_compile=strategies.compiles_step(config.jit, config.strategy) or None,
            autograph=False,
        )
        self._steps = tf.function(self._run_steps, autograph=False)

    def _new_model(self, vocabulary_size: int, precision: str) -> Transformer:
        keras.config.set_dtype_policy(precision)
        model = Transformer(self.shape, vocabulary_size, stack=self.stack)
        model.build()
        return model

    def reset(self, seeds: Sequence[int]) -> None:
        """Back to the beginning, as a new stack with these seeds."""
        self._seeds = _as_int32(seeds)
        self.model.initialise(seeds)
        self.optimizer.reset()

    @property
    def parameters(self) -> ParameterCount:
        """Counts of one model."""
        return self.model.count_parameters()

    def train(self, fields: Sequence[tf.Tensor]) -> np.ndarray:
        """Runs the steps of one element of `mixture.batches`.

        Args:
          fields: int ``[steps, stack, rows, length]``, in the order of `FIELDS`.

        Returns:
          Training loss of each trial, the mean over the steps, ``[stack]``.
        """
        return self._steps(self._seeds, *fields).numpy() / int(fields[0].shape[0])

    def evaluate(self, test_sets: Sequence[TestSet]) -> list[SentenceLosses]:
        """Exact losses of every trial under the weights that will be kept.

        In float32 whatever the precision of training, as of anyone who loads them.
        """
        self.final_model()
        return self.scorer.score_all(test_sets)

    def final_model(self) -> Transformer:
        """The models with the weights that are evaluated and kept, in float32.

        They differ from `model` where a running average is asked for.
        """
        if self._final_model is not self.model:
            values: Sequence = self.model.trainable_variables
            if self.config.ema_decay:
                values = self.optimizer.averages()
            final = self._final_model.trainable_variables
            for variable, value in zip(final, values, strict=True):
                variable.assign(value)
        return self._final_model

    @property
    def learning_rate(self) -> float:
        """The rate of the next update, relative to each weight's size."""
        return float(self.optimizer.learning_rate)

    def norms(self) -> tuple[np.ndarray, np.ndarray]:
        """Euclidean norms of each model's gradient and weights, ``[stack]`` each.

        The gradient's is the root of the running mean of its square, which the
        optimizer keeps anyway: it costs nothing, and one step does not sway it.
        """
        return self.optimizer.gradient_norms(), telemetry.norms(
            [variable.numpy() for variable in self.model.trainable_variables]
        )

    def agree(self, wish: bool) -> bool:
        """Whether any worker has this wish: all of them must do the same."""
        if self.config.strategy != "multi_worker":
            return wish
        wishes = self.strategy.run(lambda: tf.constant(float(wish)))
        return bool(self.strategy.reduce("SUM", wishes, axis=None) > 0)

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the arrays of `state`."""
        return {name: tuple(variable.shape) for name, variable in self._variables()}

    def state(self) -> dict[str, np.ndarray]:
        """Everything training is a function of, but the position in the data."""
        return {name: variable.numpy() for name, variable in self._variables()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Puts back what `state` returned."""
        for name, variable in self._variables():
            variable.assign(state[name])

    def weights(self, index: int) -> dict[str, np.ndarray]:
        """The weights to keep of one trial, as those of a single model."""
        return {
            variable.path: variable.numpy()[index]
            for variable in self.final_model().trainable_variables
        }

    def _variables(self) -> Iterator[tuple[str, keras.Variable]]:
        for variable in self.model.trainable_variables:
            yield f"model/{variable.path}", variable
        for variable in self.optimizer.variables:
            yield f"optimizer/{variable.name}", variable

    def _run_steps(self, seeds: tf.Tensor, *fields: tf.Tensor) -> tf.Tensor:
        def one(index: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            batch = tuple(field[index] for field in fields)
            losses = self.strategy.run(self._replica_step, args=(seeds, *batch))
            losses = self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
            return index + 1, total + losses

        steps = tf.shape(fields[0])[0]
        start = tf.constant(0), tf.zeros((self.stack,))
        return tf.while_loop(lambda index, _: index < steps, one, start)[1]

    def _step(self, seeds: tf.Tensor, *batch: tf.Tensor) -> tf.Tensor:
        """One update on this replica's share of the batch.

        Args:
          seeds: Of each trial, int32 ``[stack]``.
          batch: Four ``[stack, rows, length]``: the whole batch, on each replica;
            a replica takes its rows. So the data do not depend on the devices.

        Returns:
          This replica's part of the loss, ``[stack]``; the parts sum to the mean
          over the target tokens of the whole batch.
        """
        share = self._share(batch)
        tokens = tf.reduce_sum(tf.cast(share[3] > 0, tf.float32), axis=(1, 2))
        context = tf.distribute.get_replica_context()
        tokens = context.all_reduce(tf.distribute.ReduceOp.SUM, tokens)
        parts = micro_batches(self.config, *share[2].shape[1:])
        if parts == 1:
            losses, gradients = self._gradients(share, tokens, self._dropout(seeds, 0))
        else:
            losses, gradients = self._accumulated(share, tokens, parts, seeds)
        self.optimizer.apply(gradients, self.model.trainable_variables)
        return losses

    def _gradients(
        self, rows: Sequence[tf.Tensor], tokens: tf.Tensor, dropout: Dropout
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Losses and gradients of some rows, as parts of those of the whole batch.

        Args:
          rows: Four ``[stack, rows, length]``.
          tokens: Target tokens of the whole batch, ``[stack]``.
          dropout: For one pass through the model.
        """
        source, source_segments, target, target_segments = rows
        mask = tf.cast(target_segments > 0, tf.float32)
        with tf.GradientTape() as tape:
            token_losses = self.model.token_losses(
                source,
                source_segments,
                target,
                target_segments,
                dropout=dropout,
                label_smoothing=self.config.label_smoothing,
            )
            nats = tf.reduce_sum(token_losses * mask, (1, 2))
            losses = nats / tf.maximum(tokens, 1.0)
            # Each loss depends on its own model only, so the gradient of the sum
            # holds every model's own gradient.
            total = tf.reduce_sum(losses)
            gradients = tape.gradient(total, self.model.trainable_variables)
        return losses, gradients

    def _accumulated(
        self, rows: Sequence[tf.Tensor], tokens: tf.Tensor, parts: int, seeds: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The same as `_gradients`, some rows after the others: memory for those."""

        def add(
            part: tf.Tensor, losses: tf.Tensor, gradients: list[tf.Tensor]
        ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
            own = [_part(field, parts, part) for field in rows]
            more_losses, more = self._gradients(own, tokens, self._dropout(seeds, part))
            summed = [a + b for a, b in zip(gradients, more, strict=True)]
            return part + 1, losses + more_losses, summed

        variables = self.model.trainable_variables
        start = (
            tf.constant(0),
            tf.zeros((self.stack,)),
            [tf.zeros(variable.shape) for variable in variables],
        )
        return tf.while_loop(lambda part, *_: part < parts, add, start)[1:]

    def _dropout(self, seeds: tf.Tensor, part: tf.Tensor | int) -> Dropout:
        """Dropout for one part of one step on this replica.

        A trial's masks are a function of its seed, the step, the replica and the
        part: not of the other trials of the stack, nor of an interruption.
        """
        if not self.config.dropout:
            return keep_all
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        for number in (self.optimizer.iterations, replica, part):
            # Distinct for distinct numbers; int32 wraps around.
            seeds = seeds * 1_000_003 + tf.cast(number, tf.int32)
        return make_dropout(self.config.dropout, seeds)

    def _share(self, batch: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        replicas = self.strategy.num_replicas_in_sync
        if replicas == 1:
            return list(batch)
        context = tf.distribute.get_replica_context()
        replica = context.replica_id_in_sync_group
        return [_part(field, replicas, replica) for field in batch]


class StackCache:
    """The models of one group, used again for the next group of their size.

    Building and tracing them takes a second or two, and XLA's work comes on top. Groups
    come sorted by size, so only one stack is kept: memory is for one.

    Args:
      config: How to train.
      vocabulary_size: Pieces in the vocabulary.
    """

    def __init__(self, config: Config, vocabulary_size: int):
        self.config = config
        self.vocabulary_size = vocabulary_size
        self._kept: ModelStack | None = None

    def get(self, size: str, seeds: Sequence[int]) -> ModelStack:
        """A stack of models of a size, at its beginning."""
        kept = self._kept
        if kept and (kept.shape.name, kept.stack) == (size, len(seeds)):
            kept.reset(seeds)
            return kept
        kept = self._kept = None
        self._kept = ModelStack(
            self.config, get_shape(size), self.vocabulary_size, seeds
        )
        return self._kept


def _as_int32(seeds: Sequence[int]) -> tf.Tensor:
    return tf.constant(np.array(seeds, np.int64).astype(np.int32))


def _part(field: tf.Tensor, parts: int, index: tf.Tensor | int) -> tf.Tensor:
    """One of several equal parts of the rows, in a shape that is known beforehand.

    A slice from a computed start has none, and XLA does not compile it.

    Args:
      field: ``[stack, rows, length]``.
      parts: How many parts.
      index: Which of them.

    Returns:
      ``[stack, rows / parts, length]``.
    """
    stack, rows, length = field.shape
    split = tf.reshape(field, (stack, parts, rows // parts, length))
    return tf.gather(split, index, axis=1)
