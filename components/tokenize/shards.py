"""One shard of text to one shard of packed token rows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.text_shards import TRAIN, read_shard, shard_bytes
from components.tokenize import packing, records
from components.tokenize.config import Config
from components.tokenize.layout import (
    EXAMPLES,
    KINDS,
    LENGTH,
    NATS,
    ORIGINS,
    SENTENCE_IDS,
    SIDES,
)
from components.tokenize.vocabulary import UNKNOWN, Vocabulary

TOO_LONG = "too_long"


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
class Side:
    """One side of ``n`` tokenised sentences.

    Attributes:
      ids: int32 [sum of lengths], all sentences one after another.
      lengths: int64 [n].
    """

    ids: np.ndarray
    lengths: np.ndarray


@dataclasses.dataclass(frozen=True)
class Shard:
    """A finished shard: the bytes of its files and its counts."""

    rows: bytes
    dead_letters: bytes | None
    counts: Counter[str]


def make(job: Job, vocabulary: Vocabulary, config: Config) -> Shard:
    """Tokenises and packs one shard."""
    pairs = list(read_shard(job.source))
    source = Side(*vocabulary.encode([pair["source"] for pair in pairs], job.tag))
    target = Side(*vocabulary.encode([pair["target"] for pair in pairs]))
    plan = packing.plan(
        source.lengths,
        target.lengths,
        source_length=config.source_length,
        target_length=config.target_length,
        window=config.packing_window,
    )
    columns = rows(source, target, plan, config)
    if job.split != TRAIN:
        columns |= _sentences(pairs, plan)
    dropped = np.flatnonzero(plan.rows < 0)
    letters = _dead_letters(job, pairs, dropped, source, target)
    return Shard(
        rows=b"".join(records.frame(records.examples(columns))),
        dead_letters=shard_bytes(letters) if len(dropped) else None,
        counts=_counts(job, pairs, (source, target), plan, vocabulary),
    )


def rows(
    source: Side, target: Side, plan: packing.Plan, config: Config
) -> dict[str, Any]:
    """The columns of packed rows, see `components.tokenize.packing`."""
    sides = (
        ("source", source, plan.source_starts, config.source_length),
        ("target", target, plan.target_starts, config.target_length),
    )
    columns: dict[str, Any] = {}
    for name, side, starts, length in sides:
        laid_out = packing.lay_out(
            side.ids,
            side.lengths,
            plan.rows,
            plan.segments,
            starts,
            (plan.row_count, length),
        )
        for kind, values in zip(KINDS, laid_out, strict=True):
            columns[f"{name}_{kind}"] = values
    kept = plan.rows[plan.rows >= 0]
    columns[EXAMPLES] = np.bincount(kept, minlength=plan.row_count)[:, None]
    return columns


def _sentences(pairs: Sequence[dict[str, Any]], plan: packing.Plan) -> dict[str, Any]:
    """Which sentence of the test set each segment is, and what is known of it."""
    order = np.lexsort((plan.segments, plan.rows))
    order = order[plan.rows[order] >= 0]
    bounds = np.cumsum(np.bincount(plan.rows[order], minlength=plan.row_count))[:-1]
    by_row = np.split(order, bounds) if plan.row_count else []
    columns: dict[str, Any] = {SENTENCE_IDS: by_row}
    if all(NATS in pair for pair in pairs):
        nats = np.array([pair[NATS] for pair in pairs])
        columns[NATS] = [nats[row] for row in by_row]
    if all("origin" in pair for pair in pairs):
        columns[ORIGINS] = [
            [pairs[i]["origin"].encode() for i in row] for row in by_row
        ]
    return columns


def _dead_letters(
    job: Job,
    pairs: Sequence[dict[str, Any]],
    dropped: np.ndarray,
    source: Side,
    target: Side,
) -> Iterator[dict[str, Any]]:
    for i in dropped.tolist():
        yield {
            "task": job.task,
            "file": job.source.name,
            "line": i + 1,
            "rule": TOO_LONG,
            "source_tokens": int(source.lengths[i]),
            "target_tokens": int(target.lengths[i]),
            "source": pairs[i]["source"],
            "target": pairs[i]["target"],
            **{key: pairs[i][key] for key in ("origin", NATS) if key in pairs[i]},
        }


def _counts(
    job: Job,
    pairs: Sequence[dict[str, Any]],
    sides: tuple[Side, Side],
    plan: packing.Plan,
    vocabulary: Vocabulary,
) -> Counter[str]:
    source, target = sides
    kept = plan.rows >= 0
    unknown = (np.count_nonzero(side.ids == UNKNOWN) for side in sides)
    pieces = (np.count_nonzero(vocabulary.byte_pieces[side.ids]) for side in sides)
    counts: Counter[str] = Counter(
        rows=plan.row_count,
        examples=int(kept.sum()),
        source_tokens=int(source.lengths[kept].sum()),
        target_tokens=int(target.lengths[kept].sum()),
        dropped_too_long=int((~kept).sum()),
        tokens=len(source.ids) + len(target.ids),
        unknown=int(sum(unknown)),
        bytes=int(sum(pieces)),
    )
    for name, side in zip(SIDES, sides, strict=True):
        lengths, numbers = np.unique(side.lengths, return_counts=True)
        for length, number in zip(lengths.tolist(), numbers.tolist(), strict=True):
            counts[f"{name}{LENGTH}{length}"] = number
    if job.split != TRAIN and all(NATS in pair for pair in pairs):
        nats = np.array([pair[NATS] for pair in pairs], np.float64)
        counts[NATS] = float(nats[kept].sum())
    return counts
