"""Exact test loss: every sentence of a test set once, in sums and counts.

Shared by the trainer (learning curves) and the evaluator (final losses).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from components.artifacts.test_sets import FIELDS, LongPair, TestSet, load_test_sets
from models.nmt.fast import evaluation_loss
from models.nmt.transformer import Transformer

__all__ = ["FIELDS", "Scorer", "SentenceLosses", "TestSet", "load_test_sets"]

BATCH_ROWS = 64


@dataclasses.dataclass(frozen=True)
class SentenceLosses:
    """Per sentence of a test set, in the order of its sentence numbers.

    Attributes:
      nats: float64 ``[stack, sentences]``, summed over the sentence's tokens.
      tokens: int64 ``[sentences]``, target tokens with the end of sentence.
    """

    nats: np.ndarray
    tokens: np.ndarray

    @property
    def loss(self) -> np.ndarray:
        """Nats per target token of each model, float64 ``[stack]``."""
        return self.nats.sum(axis=-1) / self.tokens.sum()

    def take(self, chosen: np.ndarray) -> SentenceLosses:
        """Those of some of the sentences, bool or int ``[sentences]``."""
        return SentenceLosses(self.nats[:, chosen], self.tokens[chosen])


class Scorer:
    """Teacher-forced losses of a stack of models.

    Args:
      model: A stack of models (``stack`` is not ``None``).
    """

    def __init__(self, model: Transformer):
        self.model = model
        # Without AutoGraph: translating Keras's sources takes longer than tracing.
        self._losses = tf.function(self._token_losses, autograph=False)

    def score(self, test_set: TestSet) -> SentenceLosses:
        """Loss of every sentence under every model of the stack."""
        return self.score_all([test_set])[0]

    def score_all(self, test_sets: Sequence[TestSet]) -> list[SentenceLosses]:
        """Loss of every sentence of every test set.

        The rows of all of them form one sequence of batches of one static shape, so
        that only the very last is padded, with empty rows, which hold no sentence
        and so count for nothing.
        """
        if not test_sets:
            return []
        slots = max(test_set.sentence_ids.shape[1] for test_set in test_sets)
        # Nothing of no rows: all sentences may be longer than a row.
        none = (
            np.zeros((self.model.stack or 1, 0, slots)),
            np.zeros((0, slots), np.int64),
        )
        parts = [none, *self._score_rows(test_sets, slots)]
        sums = np.concatenate([nats for nats, _ in parts], axis=1)
        counts = np.concatenate([tokens for _, tokens in parts])
        found, first = [], 0
        for test_set in test_sets:
            last = first + len(test_set.sentence_ids)
            width = test_set.sentence_ids.shape[1]
            own = sums[:, first:last, :width], counts[first:last, :width]
            found.append(self._in_order(test_set, *own))
            first = last
        return found

    def _score_rows(
        self, test_sets: Sequence[TestSet], slots: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Sums ``[stack, rows, slots]`` and token counts ``[rows, slots]``, a batch
        at a time."""
        fields = {
            name: np.concatenate([one.fields[name] for one in test_sets])
            for name in FIELDS
        }
        rows = len(fields[FIELDS[0]])
        for start in range(0, rows, BATCH_ROWS):
            batch = {
                name: _padded(fields[name][start : start + BATCH_ROWS])
                for name in FIELDS
            }
            losses = self._losses(*(tf.constant(batch[name]) for name in FIELDS))
            sums, counts = sum_by_segment(
                losses.numpy(), batch["target_segments"], slots
            )
            kept = min(BATCH_ROWS, rows - start)
            yield sums[:, :kept], counts[:kept]

    def _in_order(
        self, test_set: TestSet, sums: np.ndarray, counts: np.ndarray
    ) -> SentenceLosses:
        """Packed and long sentences together, by sentence number."""
        present = test_set.sentence_ids >= 0
        numbers = [test_set.sentence_ids[present]]
        nats, tokens = [sums[:, present]], [counts[present]]
        for pair in test_set.long:
            numbers.append(np.array([pair.number]))
            nats.append(self._score_long(pair))
            tokens.append(np.array([len(pair.target_ids)]))
        order = np.argsort(np.concatenate(numbers))
        joined = np.concatenate(nats, axis=1), np.concatenate(tokens)
        return SentenceLosses(joined[0][:, order], joined[1][order])

    def _score_long(self, pair: LongPair) -> np.ndarray:
        """Nats of a sentence that fits in no row, float64 ``[stack, 1]``.

        Lengths are rounded up to powers of two: a program for each.
        """
        longest = max(len(pair.source_ids), len(pair.target_ids))
        length = 1 << (longest - 1).bit_length()
        sides = []
        for ids in (pair.source_ids, pair.target_ids):
            row = np.zeros((2, 1, length), np.int32)
            row[0, 0, : len(ids)], row[1, 0, : len(ids)] = ids, 1
            sides += list(row)
        losses = self._losses(*(tf.constant(side) for side in sides))
        return sum_by_segment(losses.numpy(), sides[3], 1)[0][:, 0]

    def _token_losses(self, *fields: tf.Tensor) -> tf.Tensor:
        """Four ``[rows, length]`` -> nats, ``[stack, rows, length]``."""
        stacked = [tf.tile(field[None], (self.model.stack, 1, 1)) for field in fields]
        if self.model.shape.logit_clip is not None:
            return self.model.token_losses(*stacked)
        x = self.model.decode(*stacked)
        return evaluation_loss.cross_entropy(x, self.model.softmax.kernel, stacked[2])


def sum_by_segment(
    losses: np.ndarray, segments: np.ndarray, slots: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sums token losses over the sentences of packed rows, in float64.

    Example: losses ``[[[1, 2, 4, 8]]]`` with segments ``[[1, 1, 2, 0]]`` and two
    slots give sums ``[[[3, 4]]]`` and counts ``[[2, 1]]``.

    Args:
      losses: ``[stack, rows, length]``.
      segments: int ``[rows, length]``; 1, 2, ... and 0 for padding.
      slots: Most sentences in a row.

    Returns:
      Sums ``[stack, rows, slots]`` and token counts ``[rows, slots]``.
    """
    rows = len(segments)
    inside = segments > 0
    cells = (np.arange(rows)[:, None] * slots + segments - 1)[inside]
    size = rows * slots
    sums = [np.bincount(cells, one[inside], minlength=size) for one in losses]
    counts = np.bincount(cells, minlength=size).reshape(rows, slots)
    return np.stack(sums).reshape(-1, rows, slots), counts


def _padded(rows: np.ndarray) -> np.ndarray:
    missing = BATCH_ROWS - len(rows)
    return np.pad(rows, ((0, missing), (0, 0))).astype(np.int32)
