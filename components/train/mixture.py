"""The weighted mixture: which packed rows a training step sees.

Everything is a function of (seed, step): nothing depends on the number of
devices, workers or restarts, and starting at step 100,000 costs no more than
starting at step 0 once the rows drawn before are known (`Draws` is part of the
checkpoint).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from components.cross_entropy import FIELDS


@dataclasses.dataclass(frozen=True)
class Rows:
    """Packed training rows of all tasks, one task after the other.

    Attributes:
      fields: Name -> int array ``[rows, length]`` for each of `FIELDS`.
      first: First row of each task, int64 ``[tasks]``.
      count: Rows of each task, int64 ``[tasks]``.
      examples: Sentence pairs in an average row of each task, ``[tasks]``.
    """

    fields: Mapping[str, np.ndarray]
    first: np.ndarray
    count: np.ndarray
    examples: np.ndarray

    @classmethod
    def join(cls, tasks: Sequence[Mapping[str, np.ndarray]]) -> Rows:
        """Joins the ``train`` splits of the tasks (see `tokenize.reader`)."""
        count = np.array([len(task["target_ids"]) for task in tasks], np.int64)
        examples = np.array([task["examples"].mean() for task in tasks])
        fields = {
            name: np.concatenate([task[name] for task in tasks]) for name in FIELDS
        }
        return cls(fields, np.cumsum(count) - count, count, examples)


def row_probabilities(weights: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """Probability of each task's rows under which *examples* come out at ``p``.

    A row of short sentences holds more examples than a row of long ones, so a
    task with short sentences needs fewer rows for the same share of examples.

    Example: weights (.5, .5) with 4 and 2 examples a row give rows 1 : 2.

    Args:
      weights: Share of examples of each task, ``[..., tasks]``, sums to 1.
      examples: Examples in an average row of each task, ``[tasks]``.

    Returns:
      ``[..., tasks]``, sums to 1 over the tasks.
    """
    rows = weights / examples
    return rows / rows.sum(axis=-1, keepdims=True)


def batches(
    rows: Rows,
    weights: np.ndarray,
    seeds: np.ndarray,
    *,
    batch_rows: int,
    steps_per_call: int,
    start_step: int,
    stop_step: int,
    drawn: np.ndarray,
) -> tf.data.Dataset:
    """Batches of a stack of trials, from ``start_step`` on.

    Each row's task is drawn with `row_probabilities`; the rows of a task come in
    an order that is a new permutation in each epoch, so that every row is seen
    once before any is seen twice.

    Args:
      rows: The packed rows.
      weights: Share of examples of each task in each trial, ``[stack, tasks]``.
      seeds: Seed of each trial, int ``[stack]``.
      batch_rows: Rows a trial sees in a step.
      steps_per_call: Steps in one element of the dataset.
      start_step, stop_step: First step, and the one after the last; their
        difference is a multiple of ``steps_per_call``.
      drawn: Rows drawn before ``start_step``, int64 ``[stack, tasks]``.

    Returns:
      A dataset of ``(fields, drawn)``: int32 ``[steps_per_call, stack,
      batch_rows, length]`` each, in the order of `FIELDS`, and the rows drawn
      after the element's last step, int64 ``[stack, tasks]``.
    """
    probabilities = row_probabilities(weights, rows.examples)
    # The last edge is beyond 1, so that rounding never draws a task too many.
    edges = np.cumsum(probabilities, axis=-1)[:, :-1].astype(np.float32)
    arrays = [tf.constant(rows.fields[name]) for name in FIELDS]
    draw = _RowDrawer(rows, edges, np.asarray(seeds, np.int64), batch_rows)

    def gather(indices: tf.Tensor, totals: tf.Tensor):
        fields = tuple(tf.cast(tf.gather(a, indices), tf.int32) for a in arrays)
        return fields, totals[-1]

    dataset = tf.data.Dataset.range(start_step, stop_step)
    dataset = dataset.scan(tf.constant(drawn, tf.int64), draw)
    dataset = dataset.batch(steps_per_call, drop_remainder=True)
    dataset = dataset.map(gather).prefetch(2)
    options = tf.data.Options()
    # The autotuner's thread delays the end of short runs by a second and more.
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 1
    return dataset.with_options(options)


class _RowDrawer:
    """One step of the scan: rows drawn so far -> the rows of the next batch."""

    def __init__(
        self, rows: Rows, edges: np.ndarray, seeds: np.ndarray, batch_rows: int
    ):
        self.first = tf.constant(rows.first)
        self.count = tf.constant(rows.count)
        self.edges = tf.constant(edges)
        self.seeds = tf.constant(seeds)
        self.batch_rows = batch_rows

    def __call__(self, drawn: tf.Tensor, step: tf.Tensor):
        tasks = len(self.first)
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
        count = tf.gather(self.count, task)
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
        row = tf.reshape(flat, tf.shape(position)) + tf.gather(self.first, task)
        drawn = drawn + tf.reduce_sum(chosen, axis=1)
        return drawn, (row, drawn)

    def _uniform(self, seed: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform([self.batch_rows], tf.stack([seed, step]))
