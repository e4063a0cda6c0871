"""From a batch of pairs to those that are clean and those that are rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.pairs import Pairs
from components.ingest.cleaning.repair import repair
from components.ingest.cleaning.rules import Rules
from components.ingest.duplicates.keys import pair_keys, sentence_keys

EMPTY = "empty"


def clean(batch: Batch, rules: Rules | None, seed: int) -> tuple[pa.Table, pa.Table]:
    """Repairs a batch and asks the rules about each of its pairs.

    Args:
      batch: Pairs as they were read.
      rules: The rules; None for those that nothing can go on without.
      seed: Seed of the keys.

    Returns:
      The pairs no rule rejects (`pair_tables.ACCEPTED`), and the others, each with the
      first rule that did (`pair_tables.REJECTED`). Together they are as many as the
      batch has.
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
    gone = np.array([reason is not None for reason in reasons], bool)
    letters = {
        "place": pair_tables.places_of(batch.file, batch.places),
        "rule": reasons,
        "source": sources,
        "target": targets,
    }
    rejected = pa.table(letters, pair_tables.REJECTED).filter(gone)
    kept = np.flatnonzero(~gone)
    return _accepted(batch, sources, targets, kept, seed), rejected


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


def _repaired(details: Mapping[str, Any] | None) -> str | None:
    """As JSON; further references are text and are repaired as the sides are."""
    if details is None:
        return None
    if "references" in details:
        details = {**details, "references": repair(details["references"])}
    return json.dumps(details, ensure_ascii=False)


def _accepted(
    batch: Batch, sources: list[str], targets: list[str], kept: np.ndarray, seed: int
) -> pa.Table:
    sources = [sources[i] for i in kept]
    targets = [targets[i] for i in kept]
    columns = {
        "source": sources,
        "target": targets,
        "source_key": sentence_keys(sources, seed),
        "target_key": sentence_keys(targets, seed),
        "pair_key": pair_keys(batch.task, sources, targets, seed),
        "place": pair_tables.places_of(batch.file, batch.places)[kept],
    }
    nothing = [None] * len(batch.sources)
    columns["nats"] = [(batch.nats or nothing)[i] for i in kept]
    columns["origin"] = [(batch.origins or nothing)[i] or None for i in kept]
    columns["details"] = [_repaired((batch.details or nothing)[i]) for i in kept]
    return pa.table(columns, pair_tables.ACCEPTED)
