"""The data card: what went in, what came out, and why the rest did not.

``card.json`` for programs, ``README.md`` for people; nothing in them is not in the
counts and measures that Beam added up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components import manifest
from components.ingest.layout import ACCEPTED, CARD, CARD_TEXT
from components.text_shards import TRAIN

FORMAT = "polyscale.data_card"
VERSION = 1
_QUANTILES = (0.05, 0.5, 0.95)
_SHOWN = 100  # characters of a sample in the text
_LEAST_SHARE = 0.001
_SIDES = ("source", "target")
_DUPLICATES = ("duplicate", "equivalent", "near_duplicate")


def make(
    counts: Mapping[str, Mapping[str, Any]],
    rows: Sequence[tuple[str, str, str, int]],
    samples: Sequence[tuple[str, str, str, list]],
) -> dict[str, Any]:
    """The card as ``card.json`` has it.

    Args:
      counts: ``counts.json``.
      rows: ``(task, split, "side_measure:value", n)``, see `components.ingest.card`.
      samples: ``(task, split, rule or accepted, [(key, source, target), ...])``.
    """
    tasks: dict[str, Any] = {}
    for task, counted in counts.items():
        tasks[task] = {
            **counted,
            "splits": {name: _split(n) for name, n in _sizes(counted)},
            "samples": {},
        }
    for task, split, what, count in rows:
        measure, _, value = what.partition(":")
        side, _, kind = measure.partition("_")
        described = tasks[task]["splits"][split][side]
        if kind == "characters":
            described["characters"] = count
        else:
            described[f"{kind}s"][value] = count
    for task in tasks.values():
        for split in task["splits"].values():
            for side in _SIDES:
                lengths = split[side]["lengths"]
                rising = sorted(lengths.items(), key=lambda item: int(item[0]))
                split[side]["lengths"] = dict(rising)
                split[side]["scripts"] = dict(sorted(split[side]["scripts"].items()))
    for task, split, what, drawn in samples:
        name = split if what == ACCEPTED else what
        pairs = [{"source": source, "target": target} for _, source, target in drawn]
        tasks[task]["samples"].setdefault(name, []).extend(pairs)
    return {"format": FORMAT, "version": VERSION, "tasks": tasks}


def write(directory: Path, card: Mapping[str, Any]) -> None:
    """Writes ``card.json`` and ``README.md``."""
    text = json.dumps(card, indent=1, ensure_ascii=False)
    manifest.write_atomically(directory / CARD, text + "\n")
    manifest.write_atomically(directory / CARD_TEXT, "\n".join(_lines(card)) + "\n")


def quantile(lengths: Mapping[str, int], share: float) -> int:
    """The lower end of the interval in which this share of the sentences is reached.

    Example:
      >>> quantile({"8": 10, "12": 80, "16": 10}, 0.5)
      12
    """
    wanted, seen = share * sum(lengths.values()), 0
    for end, count in lengths.items():
        seen += count
        if seen >= wanted:
            return int(end)
    return 0


def _sizes(counted: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield TRAIN, counted[TRAIN]
    yield from sorted(counted["test"].items())


def _split(pairs: int) -> dict[str, Any]:
    sides = {s: {"characters": 0, "lengths": {}, "scripts": {}} for s in _SIDES}
    return {"pairs": pairs, **sides}


def _lines(card: Mapping[str, Any]) -> Iterator[str]:
    tasks = card["tasks"]
    yield "# Data card"
    yield ""
    yield "Written by `polyscale ingest`; the figures are those of `card.json`."
    yield "Rejected pairs are in `dead_letters/`, with file, line and rule."
    yield ""
    yield "## Pairs"
    yield ""
    rows = [
        [
            task,
            f"{t['read']:,}",
            f"{t[TRAIN]:,}",
            ", ".join(f"{name} {n:,}" for name, n in sorted(t["test"].items())),
            f"{sum(t['rejected'].values()):,}",
            f"{sum(t['rejected'].get(rule, 0) for rule in _DUPLICATES):,}",
        ]
        for task, t in tasks.items()
    ]
    head = ["task", "read", "train", "test sets", "rejected", "of these duplicates"]
    yield from _table(head, rows)
    yield "## Rejected, by rule"
    yield ""
    rules = sorted({rule for t in tasks.values() for rule in t["rejected"]})
    rows = [
        [task, *(f"{t['rejected'].get(rule, 0):,}" for rule in rules)]
        for task, t in tasks.items()
    ]
    yield from _table(["task", *rules], rows)
    yield "## Length and script"
    yield ""
    yield "Characters of a sentence: mean, and the interval (1, 2, 3, 4, 6, 8, 12, ...)"
    yield "in which 5 %, half and 95 % of the sentences are reached."
    yield ""
    head = ["task", "split", "side", "mean", "5 %", "50 %", "95 %", "letters by script"]
    rows = [
        [task, split, side, *_described(described[side], described["pairs"])]
        for task, t in tasks.items()
        for split, described in t["splits"].items()
        for side in _SIDES
    ]
    yield from _table(head, rows)
    yield "## Samples"
    for task, t in tasks.items():
        for name, pairs in sorted(t["samples"].items(), key=lambda s: s[0] != TRAIN):
            yield ""
            yield f"### {task}: {name}"
            yield ""
            rows = [[_shown(pair["source"]), _shown(pair["target"])] for pair in pairs]
            yield from _table(["source", "target"], rows)


def _described(side: Mapping[str, Any], pairs: int) -> list[str]:
    letters = sum(side["scripts"].values())
    mix = sorted(side["scripts"].items(), key=lambda item: (-item[1], item[0]))
    return [
        f"{side['characters'] / max(1, pairs):.0f}",
        *(str(quantile(side["lengths"], share)) for share in _QUANTILES),
        ", ".join(
            f"{name} {100 * n / letters:.3g} %"
            for name, n in mix
            if n >= _LEAST_SHARE * letters
        ),
    ]


def _shown(text: str) -> str:
    """A sample as a cell of a table: as it is, but for its length."""
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
    for mark in "\\`*_|<[&":
        text = text.replace(mark, f"\\{mark}")
    return text


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""
