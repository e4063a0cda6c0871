"""Exact test loss: every sentence of a test set once, in sums and counts.

Shared by the trainer (learning curves) and the evaluator (final losses).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from components.tokenize.reader import load_index, load_split
from models.nmt.loss import token_cross_entropy
from models.nmt.transformer import Transformer

FIELDS = ("source_ids", "source_segments", "target_ids", "target_segments")
BATCH_ROWS = 64


@dataclasses.dataclass(frozen=True)
class TestSet:
    """Packed rows of one test set of one task.

    Attributes:
      task, name: ``en-de``, ``in_domain``.
      fields: Name -> int array ``[rows, length]``, for each of `FIELDS`.
      sentence_ids: int ``[rows, most sentences in a row]``, -1 where there is none.
    """

    task: str
    name: str
    fields: Mapping[str, np.ndarray]
    sentence_ids: np.ndarray

    @property
    def sentences(self) -> int:
        """Sentences in the test set."""
        return int((self.sentence_ids >= 0).sum())


def load_test_sets(tokens: Path, tasks: Sequence[str]) -> tuple[TestSet, ...]:
    """Every test set of the given tasks in an artifact of ``tokenize``."""
    index = load_index(tokens)
    found = []
    for task in tasks:
        for name in index["tasks"][task]["splits"]:
            if name == "train":
                continue
            split = load_split(tokens, task, name)
            fields = {field: split[field] for field in FIELDS}
            found.append(TestSet(task, name, fields, split["sentence_ids"]))
    return tuple(found)


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


class Scorer:
    """Teacher-forced losses of a stack of models.

    Args:
      model: A stack of models (``stack`` is not ``None``).
    """

    def __init__(self, model: Transformer):
        self.model = model
        self._losses = tf.function(self._token_losses)

    def score(self, test_set: TestSet) -> SentenceLosses:
        """Loss of every sentence under every model of the stack.

        Rows come in batches of one static shape; the last one is padded with empty
        rows, which hold no sentence and so count for nothing.
        """
        rows = len(test_set.sentence_ids)
        sums, counts = [], []
        for start in range(0, rows, BATCH_ROWS):
            batch = {
                name: _padded(test_set.fields[name][start : start + BATCH_ROWS])
                for name in FIELDS
            }
            losses = self._losses(*(tf.constant(batch[name]) for name in FIELDS))
            slots = test_set.sentence_ids.shape[1]
            batch_sums, batch_counts = sum_by_segment(
                losses.numpy(), batch["target_segments"], slots
            )
            kept = min(BATCH_ROWS, rows - start)
            sums.append(batch_sums[:, :kept])
            counts.append(batch_counts[:kept])
        present = test_set.sentence_ids >= 0
        order = np.argsort(test_set.sentence_ids[present])
        nats = np.concatenate(sums, axis=1)[:, present]
        return SentenceLosses(nats[:, order], np.concatenate(counts)[present][order])

    def _token_losses(self, *fields: tf.Tensor) -> tf.Tensor:
        """Four ``[rows, length]`` -> nats, ``[stack, rows, length]``."""
        stacked = [tf.tile(field[None], (self.model.stack, 1, 1)) for field in fields]
        logits = self.model(*stacked, training=False)
        return token_cross_entropy(logits, stacked[2])


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
    member = segments[:, :, None] == np.arange(1, slots + 1)  # [rows, length, slots]
    sums = np.einsum("srl,rlk->srk", losses.astype(np.float64), member)
    return sums, member.sum(axis=1)


def _padded(rows: np.ndarray) -> np.ndarray:
    missing = BATCH_ROWS - len(rows)
    return np.pad(rows, ((0, missing), (0, 0))).astype(np.int32)
