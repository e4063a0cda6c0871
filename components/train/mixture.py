"""The weighted mixture: which packed rows a training step sees.

Everything is a function of (seed, step): nothing depends on the number of
devices, workers or restarts, and starting at step 100,000 costs no more than
starting at step 0 once the rows drawn before are known (they are part of the
checkpoint).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from components.train.rows import Rows

_STANDS = 100  # different shares while annealing


@dataclasses.dataclass(frozen=True)
class Annealing:
    """Online data selection: the share of the rows that is drawn from, by step.

    Attributes:
      keep: The share in the end, in (0, 1].
      steps: Steps after which it is reached.
    """

    keep: float
    steps: int

    def share(self, step: tf.Tensor) -> tf.Tensor:
        """``keep ** min(1, step / steps)`` in steps of a percent of that exponent.

        The share stands still for a while each time, so that there are epochs.

        Args:
          step: int.

        Returns:
          float64, from 1 down to ``keep``.
        """
        passed = tf.minimum(step * _STANDS // self.steps, _STANDS)
        exponent = tf.cast(passed, tf.float64) / _STANDS
        return tf.constant(self.keep, tf.float64) ** exponent


def row_probabilities(weights: np.ndarray, per_row: np.ndarray) -> np.ndarray:
    """Probability of each task's rows under which *examples* come out at ``p``.

    A row of short sentences holds more examples than a row of long ones, so a
    task with short sentences needs fewer rows for the same share of examples.

    Example: weights (.5, .5) with 4 and 2 examples a row give rows 1 : 2.

    Args:
      weights: Share of examples of each task, ``[..., tasks]``, sums to 1.
      per_row: Examples in an average row of each task, ``[tasks]``; or whatever
        else the weights are shares of, such as target tokens.

    Returns:
      ``[..., tasks]``, sums to 1 over the tasks.
    """
    # A task without rows has weight 0.
    rows = weights / np.where(per_row > 0, per_row, 1.0)
    return rows / rows.sum(axis=-1, keepdims=True)


def batches(
    rows: Rows,
    probabilities: np.ndarray,
    seeds: np.ndarray,
    *,
    batch_rows: int,
    steps_per_execution: int,
    start_step: int,
    stop_step: int,
    drawn: np.ndarray,
    annealing: Annealing | None = None,
) -> tf.data.Dataset:
    """Batches of a stack of trials, from ``start_step`` on.

    Each row's task is drawn; the rows of a task come in an order that is a new
    permutation in each epoch, so that every row is seen once before any is seen
    twice. With annealing an epoch is one of the rows drawn from at the time; where
    their number changes, it ends early and the next begins somewhere in its middle.

    Args:
      rows: The packed rows.
      probabilities: Of each task in each trial, see `row_probabilities`,
        ``[stack, tasks]``.
      seeds: Seed of each trial, int ``[stack]``.
      batch_rows: Rows a trial sees in a step.
      steps_per_execution: Steps in one element of the dataset.
      start_step, stop_step: First step, and the one after the last; their
        difference is a multiple of ``steps_per_execution``.
      drawn: Rows drawn before ``start_step``, int64 ``[stack, tasks]``.
      annealing: Which of the rows, which lie best first, are drawn from.

    Returns:
      A dataset of ``(fields, (drawn, seen))``: int32 ``[steps_per_execution, stack,
      batch_rows, length]`` each, in the order of `FIELDS`; the rows drawn after
      the element's last step, int64 ``[stack, tasks]``; and the sentence pairs and
      target tokens in the element, int64 ``[stack, tasks, 2]``.
    """
    # The last edge is beyond 1, so that rounding never draws a task too many.
    edges = np.cumsum(probabilities, axis=-1)[:, :-1].astype(np.float32)
    seeds = np.asarray(seeds, np.int64)
    draw = _RowDrawer(rows.count, edges, seeds, batch_rows, annealing)
    shapes = [
        (steps_per_execution, len(seeds), batch_rows, length)
        for length in np.repeat(rows.lengths, 2)
    ]

    def read(task: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, ...]:
        *fields, examples, tokens = rows.read(task, row)
        return (*fields, _seen(task, examples, tokens, len(rows.count)))

    def gather(task: tf.Tensor, row: tf.Tensor, totals: tf.Tensor) -> tuple:
        kinds = [tf.int32] * len(shapes) + [tf.int64]
        *fields, seen = tf.numpy_function(read, (task, row), kinds)
        fields = [tf.ensure_shape(f, s) for f, s in zip(fields, shapes, strict=True)]
        return tuple(fields), (totals[-1], seen)

    dataset = tf.data.Dataset.range(start_step, stop_step)
    dataset = dataset.scan(tf.constant(drawn, tf.int64), draw)
    dataset = dataset.batch(steps_per_execution, drop_remainder=True)
    return dataset.map(gather).prefetch(2).with_options(_options())


def _options() -> tf.data.Options:
    options = tf.data.Options()
    # The autotuner's thread delays the end of short runs by a second and more.
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 1
    return options


def _seen(
    task: np.ndarray, examples: np.ndarray, tokens: np.ndarray, tasks: int
) -> np.ndarray:
    """Sentence pairs and target tokens by trial and task.

    Args:
      task, examples, tokens: int ``[steps, stack, batch_rows]``, of every row.
      tasks: How many there are.

    Returns:
      int64 ``[stack, tasks, 2]``.
    """
    member = task[..., None] == np.arange(tasks)  # [steps, stack, batch_rows, tasks]
    counts = np.stack([examples, tokens], axis=-1).astype(np.int64)
    return np.einsum("abct,abcn->btn", member, counts)


class _RowDrawer:
    """One step of the scan: rows drawn so far -> the rows of the next batch."""

    def __init__(
        self,
        count: np.ndarray,
        edges: np.ndarray,
        seeds: np.ndarray,
        batch_rows: int,
        annealing: Annealing | None,
    ):
        self.count = tf.constant(count)
        self.edges = tf.constant(edges)
        self.seeds = tf.constant(seeds)
        self.batch_rows = batch_rows
        self.annealing = annealing

    def __call__(self, drawn: tf.Tensor, step: tf.Tensor) -> tuple:
        tasks = len(self.count)
        task = tf.stack(
            [
                tf.searchsorted(edges, self._uniform(seed, step), side="right")
                for edges, seed in zip(
                    tf.unstack(self.edges), tf.unstack(self.seeds), strict=True
                )
            ]
        )  # [stack, batch_rows]
        chosen = tf.one_hot(task, tasks, dtype=tf.int64)  # [stack, batch_rows, tasks]
        before = tf.cumsum(chosen, axis=1, exclusive=True) + drawn[:, None, :]
        position = tf.reduce_sum(before * chosen, axis=-1)
        count = tf.gather(self._eligible(step), task)
        epoch, offset = position // count, position % count
        seed = tf.broadcast_to(self.seeds[:, None], tf.shape(position))
        shuffle_seed = tf.stack([seed, tf.cast(task, tf.int64), epoch], axis=-1)
        # The op itself: `tf.random.experimental.index_shuffle` pads one seed but
        # fails on one seed an index.
        flat = tf.raw_ops.RandomIndexShuffle(
            index=tf.reshape(offset, [-1]),
            seed=tf.cast(tf.reshape(shuffle_seed, [-1, 3]), tf.int32),
            max_index=tf.reshape(count - 1, [-1]),
            rounds=4,
        )
        row = tf.reshape(flat, tf.shape(position))
        drawn = drawn + tf.reduce_sum(chosen, axis=1)
        return drawn, (task, row, drawn)

    def _eligible(self, step: tf.Tensor) -> tf.Tensor:
        """Rows of each task that are drawn from, int64 ``[tasks]``."""
        if self.annealing is None:
            return self.count
        rows = tf.cast(self.count, tf.float64) * self.annealing.share(step)
        return tf.minimum(tf.cast(tf.math.ceil(rows), tf.int64), self.count)

    def _uniform(self, seed: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform([self.batch_rows], tf.stack([seed, step]))
