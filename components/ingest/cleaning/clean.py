"""From a batch of lines to a block of clean pairs and the pairs that were rejected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from components.ingest.batch import Batch
from components.ingest.block import Block, Letters, Rejected
from components.ingest.cleaning.pairs import Pairs
from components.ingest.cleaning.repair import repair
from components.ingest.cleaning.rules import Rules
from components.ingest.keys import pair_keys, sentence_keys

EMPTY = "empty"


def clean(batch: Batch, rules: Rules | None, seed: int) -> tuple[Block, Letters]:
    """Repairs a batch and asks the rules about each of its pairs.

    Args:
      batch: Pairs as they were read.
      rules: The rules; None for those that nothing can go on without.
      seed: Seed of the keys.

    Returns:
      The pairs no rule rejects, and the others, each with the first rule that
      did. Together they are as many as the batch has.
    """
    sources, targets = repair(batch.sources), repair(batch.targets)
    reasons: list[str | None] = [None] * len(sources)
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if not source or not target:
            reasons[i] = EMPTY
    for i, fault in batch.faults.items():
        reasons[i] = fault
    if rules is not None:
        _ask(rules, batch.task, sources, targets, reasons)
    kept = [i for i, reason in enumerate(reasons) if reason is None]
    places = batch.places
    rejected = [
        Rejected(batch.file, places[i], reason, sources[i], targets[i])
        for i, reason in enumerate(reasons)
        if reason is not None
    ]
    return _block(batch, sources, targets, kept, seed), Letters(rejected)


def _ask(
    rules: Rules,
    task: str,
    sources: list[str],
    targets: list[str],
    reasons: list[str | None],
) -> None:
    """Writes the rule that rejects a pair into ``reasons``."""
    whole = [i for i, reason in enumerate(reasons) if reason is None]
    if not whole:
        return
    source, _, target = task.partition("-")
    pairs = Pairs(
        [sources[i] for i in whole], [targets[i] for i in whole], (source, target)
    )
    for name, rejected in rules.ask(pairs):
        for position in np.flatnonzero(rejected).tolist():
            reasons[whole[position]] = name


def rejections(block: Block, rule: str, index: np.ndarray | None = None) -> Letters:
    """Pairs of a block as dead letters: all of them, or those at ``index``."""
    part = block if index is None else block.take(index)
    places = zip(part.files.tolist(), part.lines.tolist(), strict=True)
    texts = zip(part.sources, part.targets, strict=True)
    return Letters(
        [
            Rejected(file, line, rule, source, target)
            for (file, line), (source, target) in zip(places, texts, strict=True)
        ]
    )


def _repaired(details: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Further references are text and are repaired as the sides are."""
    if details is None or "references" not in details:
        return details
    return {**details, "references": repair(details["references"])}


def _block(
    batch: Batch, sources: list[str], targets: list[str], kept: list[int], seed: int
) -> Block:
    index = np.array(kept, dtype=np.int64)
    sources = [sources[i] for i in kept]
    targets = [targets[i] for i in kept]
    nats = np.full(len(batch.sources), np.nan) if batch.nats is None else batch.nats
    origins = [""] * len(batch.sources) if batch.origins is None else batch.origins
    details = [None] * len(batch.sources) if batch.details is None else batch.details
    return Block(
        sources=sources,
        targets=targets,
        source_keys=sentence_keys(sources, seed),
        target_keys=sentence_keys(targets, seed),
        pair_keys=pair_keys(batch.task, sources, targets, seed),
        files=np.full(len(kept), batch.file, np.uint32),
        lines=np.array(batch.places, np.uint64)[index],
        nats=np.asarray(nats, np.float64)[index],
        origins=[origins[i] for i in kept],
        details=[_repaired(details[i]) for i in kept],
    )
