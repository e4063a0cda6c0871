"""The data card: what went in, what came out, and why the rest did not.

``card.json`` for programs, ``README.md`` for people; nothing in them is not in the
counts and measures that Beam added up.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts import manifest
from components.artifacts.text_shards import TRAIN
from components.ingest.corpus_check import CorpusCheck
from components.ingest.layout import ACCEPTED, CARD, CARD_TEXT, LENGTH_ENDS

FORMAT = "polyscale.data_card"
VERSION = 1
_QUANTILES = (0.05, 0.5, 0.95)
_SHOWN = 100  # characters of a sample in the text
_LEAST_SHARE = 0.001
_SIDES = ("source", "target")
_DUPLICATES = ("duplicate", "equivalent", "near_duplicate")
MEANINGS = {
    "copied": "the target is the source",
    "duplicate": "equals an earlier pair",
    "empty": "a side without text",
    "equivalent": "says what another pair says, but for case and punctuation",
    "fuzzy": "the file calls the translation unfinished",
    "held_out": "its source is kept for tests",
    "length_ratio": "one side is much longer than the other",
    "malformed": "a record that is not what its format says",
    "markup": "much of a side is tags, addresses, entities",
    "misaligned": "does not look like a translation",
    "misaligned_files": "stands in files with different numbers of lines",
    "near_duplicate": "is very similar to another pair",
    "not_text": "bytes that are no text in the file's encoding",
    "numbers": "the numbers of the two sides disagree",
    "overlaps_test": "shares a sentence with a test set, or is linked to one",
    "repeated": "the same words over and over",
    "repeated_source": "a test sentence that was there already",
    "resembles_test": "is very similar to a test sentence",
    "tokenised": "traces of a tokeniser",
    "too_long": "a side has too many characters",
    "wrong_language": "a side is in another language",
    "wrong_script": "a side is in another script",
}


def make(
    counts: Mapping[str, Mapping[str, Any]],
    rows: Sequence[tuple[str, str, str, int]],
    samples: Sequence[tuple[str, str, str, list]],
    checks: Sequence[CorpusCheck] = (),
) -> dict[str, Any]:
    """The card as ``card.json`` has it.

    Args:
      counts: ``counts.json``.
      rows: ``(task, split, "side_measure:value", n)``, see `components.ingest.card`.
      samples: ``(task, split, rule or accepted, [(key, source, target), ...])``.
      checks: What samples of the inputs say of them.
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
    inputs = [dataclasses.asdict(found) for found in checks]
    return {"format": FORMAT, "version": VERSION, "tasks": tasks, "inputs": inputs}


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
    yield from _inputs(card["inputs"])
    yield "## Rejected, by rule"
    yield ""
    yield "Pairs, and their share of those read. The first rule to reject one counts."
    yield ""
    rules = sorted({rule for t in tasks.values() for rule in t["rejected"]})
    rows = [
        [rule, *(_share(t, rule) for t in tasks.values()), MEANINGS.get(rule, "")]
        for rule in rules
    ]
    yield from _table(["rule", *tasks, "what it rejects"], rows)
    yield "## Length and script"
    yield ""
    yield "Characters of a sentence: the mean, and between which lengths the shortest"
    yield "5 %, the shorter half and all but the longest 5 % of the sentences end."
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
    yield ""
    for task, t in tasks.items():
        for name, pairs in sorted(t["samples"].items(), key=lambda s: s[0] != TRAIN):
            yield f"### {task}: " + ("kept" if name == TRAIN else f"rejected as {name}")
            yield ""
            rows = [[_shown(pair["source"]), _shown(pair["target"])] for pair in pairs]
            yield from _table(["source", "target"], rows)


def _inputs(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not checks:
        return
    yield "## Inputs, by a sample of each"
    yield ""
    yield "The languages of the longer sentences; the correlation of the two sides'"
    yield "lengths; how often a pair has a better alignment score than a shuffled one"
    yield "(50 %: by chance); pairs whose sides are the same; pairs that are not text."
    yield ""
    head = ["task", "split", "input", "source", "target", "lengths", "alignment"]
    rows = [
        [
            *(found[key] for key in ("task", "split")),
            _shown(found["name"]),
            *(_languages(found[f"{side}_languages"]) for side in _SIDES),
            f"{found['length_correlation']:.2f}",
            *(_percent(found[key]) for key in ("told_apart", "copied", "undecodable")),
            _shown("; ".join(found["warnings"])),
        ]
        for found in checks
    ]
    yield from _table([*head, "same", "not text", "warnings"], rows)


def _languages(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{code} {_percent(n)}" for code, n in shares.items() if n > 0.01)


def _described(side: Mapping[str, Any], pairs: int) -> list[str]:
    letters = sum(side["scripts"].values())
    mix = sorted(side["scripts"].items(), key=lambda item: (-item[1], item[0]))
    return [
        f"{side['characters'] / max(1, pairs):.0f}",
        *(_interval(quantile(side["lengths"], share)) for share in _QUANTILES),
        ", ".join(
            f"{name} {_percent(n / letters)}"
            for name, n in mix
            if n >= _LEAST_SHARE * letters
        ),
    ]


def _share(task: Mapping[str, Any], rule: str) -> str:
    count = task["rejected"].get(rule, 0)
    return f"{count:,} ({_percent(count / task['read'])})" if count else "0"


def _percent(share: float) -> str:
    """Two digits that count: ``0.19 %``, ``3.7 %``, ``88 %``, ``100 %``."""
    percent = 100 * share
    if percent < 0.005:
        return "< 0.01 %"
    digits = 0 if percent >= 10 else 1 if percent >= 1 else 2
    return f"{percent:.{digits}f} %"


def _interval(start: int) -> str:
    """The lengths that are counted together, ``16-23``."""
    place = LENGTH_ENDS.index(start) if start in LENGTH_ENDS[:-1] else None
    last = start if place is None else LENGTH_ENDS[place + 1] - 1
    return str(start) if last == start else f"{start}-{last}"


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
