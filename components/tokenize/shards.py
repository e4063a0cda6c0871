"""One shard of text to one shard of packed token rows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import token_rows
from components.artifacts.text_shards import TRAIN, read_shard, shard_bytes
from components.artifacts.token_index import SentenceLengths, SplitTokens
from components.artifacts.token_rows import (
    EXAMPLES,
    ORIGINS,
    SENTENCE_IDS,
)
from components.tokenize import packing
from components.tokenize.config import Config
from components.tokenize.packing import Sentences
from components.tokenize.vocabulary import UNKNOWN, Vocabulary

TOO_LONG = "too_long"
_ORIGIN, _NATS = "origin", "nats"


@dataclasses.dataclass(frozen=True)
class Job:
    """One shard to make.

    Attributes:
      task: Its task.
      split: ``train`` or the name of a test set.
      tag: Tag at the start of every source, or None.
      source: The shard of ``ingest``.
      name: File name of the new shard, without its ending.
    """

    task: str
    split: str
    tag: str | None
    source: Path
    name: str


@dataclasses.dataclass(frozen=True)
class Counts:
    """Counts of one shard or of several, from which the index is made.

    Attributes:
      rows, examples, source_tokens, target_tokens, dropped_too_long, nats: As of
        `SplitTokens`.
      unknown, bytes: Unknown tokens, and bytes, of all sentences.
      lengths: Tokens -> how many sources, and how many targets, have as many.
    """

    rows: int
    examples: int
    source_tokens: int
    target_tokens: int
    dropped_too_long: int
    nats: float | None
    unknown: int
    bytes: int
    lengths: tuple[Counter[int], Counter[int]]

    def __add__(self, other: Counts) -> Counts:
        summed = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("nats", "lengths")
        }
        nats = None
        if self.nats is not None and other.nats is not None:
            nats = self.nats + other.nats
        source, target = zip(self.lengths, other.lengths, strict=True)
        lengths = source[0] + source[1], target[0] + target[1]
        return Counts(**summed, nats=nats, lengths=lengths)

    def describe(self, files: Sequence[str], positions: int) -> SplitTokens:
        """The entry of the index.

        Args:
          files: The shards.
          positions: Of a row, both sides together.
        """
        tokens = sum(n * count for side in self.lengths for n, count in side.items())
        used = self.source_tokens + self.target_tokens
        return SplitTokens(
            rows=self.rows,
            examples=self.examples,
            source_tokens=self.source_tokens,
            target_tokens=self.target_tokens,
            dropped_too_long=self.dropped_too_long,
            unknown_rate=self.unknown / max(1, tokens),
            byte_rate=self.bytes / max(1, tokens),
            source_lengths=_summary(self.lengths[0]),
            target_lengths=_summary(self.lengths[1]),
            fill=used / max(1, self.rows * positions),
            nats=self.nats,
            files=tuple(files),
        )


@dataclasses.dataclass(frozen=True)
class Shard:
    """A finished shard: the bytes of its files and its counts."""

    rows: bytes
    dead_letters: bytes | None
    counts: Counts


def make(job: Job, vocabulary: Vocabulary, config: Config) -> Shard:
    """Tokenises and packs one shard."""
    pairs = list(read_shard(job.source))
    source = vocabulary.encode([pair["source"] for pair in pairs], job.tag)
    target = vocabulary.encode([pair["target"] for pair in pairs])
    plan = packing.plan(
        source.lengths,
        target.lengths,
        source_length=config.source_length,
        target_length=config.target_length,
        window=config.packing_window,
    )
    columns = plan.lay_out(source, target) | {EXAMPLES: plan.examples}
    if job.split != TRAIN:
        columns |= _sentences(pairs, plan)
    letters = list(_dead_letters(job, pairs, plan, (source, target)))
    return Shard(
        rows=token_rows.shard_bytes(token_rows.pack(columns, config.vocabulary_size)),
        dead_letters=shard_bytes(letters) if letters else None,
        counts=_counts(job, pairs, plan, (source, target), vocabulary),
    )


def _sentences(
    pairs: Sequence[Mapping[str, Any]], plan: packing.Plan
) -> dict[str, np.ndarray]:
    """Which sentence of the test set each segment is, and where it comes from."""
    numbers = plan.pairs
    columns = {SENTENCE_IDS: numbers}
    if all(_ORIGIN in pair for pair in pairs):
        # The empty string is where -1, the number of no sentence, points to.
        origins = np.array([*(pair[_ORIGIN] for pair in pairs), ""])
        columns[ORIGINS] = origins[numbers]
    return columns


def _dead_letters(
    job: Job,
    pairs: Sequence[Mapping[str, Any]],
    plan: packing.Plan,
    sides: tuple[Sentences, Sentences],
) -> Iterator[dict[str, Any]]:
    for i in np.flatnonzero(plan.rows < 0).tolist():
        yield {
            "task": job.task,
            "file": job.source.name,
            "line": i + 1,
            "rule": TOO_LONG,
            "source_tokens": int(sides[0].lengths[i]),
            "target_tokens": int(sides[1].lengths[i]),
            "source": pairs[i]["source"],
            "target": pairs[i]["target"],
            **{key: pairs[i][key] for key in (_ORIGIN, _NATS) if key in pairs[i]},
        }


def _counts(
    job: Job,
    pairs: Sequence[Mapping[str, Any]],
    plan: packing.Plan,
    sides: tuple[Sentences, Sentences],
    vocabulary: Vocabulary,
) -> Counts:
    kept, nats = plan.rows >= 0, None
    if job.split != TRAIN and all(_NATS in pair for pair in pairs):
        nats = float(np.array([pair[_NATS] for pair in pairs], np.float64)[kept].sum())
    source, target = (int(side.lengths[kept].sum()) for side in sides)
    ids = np.concatenate([side.ids for side in sides])
    return Counts(
        rows=plan.shape[0],
        examples=int(kept.sum()),
        source_tokens=source,
        target_tokens=target,
        dropped_too_long=int((~kept).sum()),
        nats=nats,
        unknown=int(np.count_nonzero(ids == UNKNOWN)),
        bytes=int(np.count_nonzero(vocabulary.byte_pieces[ids])),
        lengths=(
            Counter(sides[0].lengths.tolist()),
            Counter(sides[1].lengths.tolist()),
        ),
    )


def _summary(lengths: Counter[int]) -> SentenceLengths:
    if not lengths:
        return SentenceLengths(0.0, 0, 0, 0)
    values, numbers = np.array(sorted(lengths.items()), np.int64).T
    reached = np.cumsum(numbers)
    middle, most = np.searchsorted(reached, [0.5 * reached[-1], 0.95 * reached[-1]])
    return SentenceLengths(
        mean=round(float((values * numbers).sum() / reached[-1]), 2),
        median=int(values[middle]),
        p95=int(values[most]),
        longest=int(values[-1]),
    )
