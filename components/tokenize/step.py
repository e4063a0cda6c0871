"""The work of ``tokenize``: the vocabulary, then the graph, then the index."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.text_shards import SUFFIX as TEXT_SUFFIX
from components.artifacts.text_shards import TRAIN, split_shards, splits
from components.engines import beam_runner
from components.tokenize.config import Config
from components.tokenize.layout import (
    FORMAT,
    INDEX,
    LENGTH,
    NATS,
    SIDES,
    SUFFIX,
    VERSION,
)
from components.tokenize.shards import Job
from components.tokenize.vocabulary import (
    FILE_NAME,
    existing,
    target_tags,
    train,
)
from models.errors import UserError

log = logging.getLogger(__name__)
_REPORT = "report.json"
_RESERVOIR = ".reservoir"


def run(
    config: Config, *, ingest: Path, tasks: tuple[str, ...], output: Path, base: Path
) -> Manifest:
    """See `components.tokenize.run`."""
    tags = target_tags(tasks)
    inputs = {"ingest": ingest}
    if config.model is not None:
        inputs["model"] = base / config.model
        existing(inputs["model"], config, filter(None, tags.values()))

    def make(directory: Path) -> Mapping[str, Any]:
        from components.tokenize import graph  # Beam starts only for work

        jobs = [job for task in tasks for job in _jobs(ingest / task, task, tags[task])]
        if config.model is None:
            with beam_runner.writing_to(output):
                model = _trained(config, ingest, tasks, tags, directory / _RESERVOIR)
        else:
            model = inputs["model"].read_bytes()
        (directory / FILE_NAME).write_bytes(model)
        report = directory / _REPORT
        pairs = manifest.load(ingest).counts
        options = beam_runner.with_workers(config.beam_options, _train_pairs(pairs))
        with beam_runner.pipeline(options) as pipeline:
            graph.build(pipeline, config, model, jobs, str(directory), str(report))
        counts = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        index = _index(config, tags, jobs, counts)
        text = json.dumps(index, indent=1, ensure_ascii=False)
        manifest.write_atomically(directory / INDEX, text + "\n")
        _check(index)
        return index["tasks"]

    described = manifest.plain(config)
    del described["beam_options"]  # the engine does not change the result
    return manifest.complete(
        "tokenize",
        output,
        config={"tasks": list(tasks), **described},
        inputs=inputs,
        make=make,
    )


def _trained(
    config: Config,
    ingest: Path,
    tasks: tuple[str, ...],
    tags: Mapping[str, str | None],
    folder: Path,
) -> bytes:
    """A vocabulary of the training text; ``folder`` is for what is drawn of it."""
    from components.tokenize import reservoir

    most = reservoir.most_of_a_task(config.sentences, tasks, config.temperature)
    with beam_runner.pipeline(config.beam_options) as pipeline:
        reservoir.build(pipeline, ingest, tasks, most, str(folder))
    texts = reservoir.sentences_of(folder, tasks, config.sentences, config.temperature)
    shutil.rmtree(folder)
    for language, sentences in texts.items():
        log.info("tokenize: %d sentences of %s", len(sentences), language)
    return train(config, texts, {tag for tag in tags.values() if tag})


def _train_pairs(counts: Mapping[str, Any]) -> int:
    rows = (row for row in counts.values() if isinstance(row, dict))
    return sum(row.get(TRAIN, 0) for row in rows)


def _jobs(directory: Path, task: str, tag: str | None) -> list[Job]:
    jobs = [
        Job(task, split, tag, path, path.name.removesuffix(TEXT_SUFFIX))
        for split in splits(directory)
        for path in split_shards(directory, split)
    ]
    if not jobs:
        raise UserError(
            f"{directory}: no shards of task {task}; run ingest with this task first"
        )
    return jobs


def _index(
    config: Config,
    tags: Mapping[str, str | None],
    jobs: list[Job],
    counts: list[tuple[str, str, dict[str, Any]]],
) -> dict[str, Any]:
    """``index.json``, see docs/data.md."""
    positions = config.source_length + config.target_length
    tasks: dict[str, Any] = {
        task: {"tag": tag, "splits": {}} for task, tag in tags.items()
    }
    for task, split, count in counts:
        used = count["source_tokens"] + count["target_tokens"]
        tasks[task]["splits"][split] = {
            "rows": count["rows"],
            "examples": count["examples"],
            "source_tokens": count["source_tokens"],
            "target_tokens": count["target_tokens"],
            "dropped_too_long": count["dropped_too_long"],
            "unknown_rate": count["unknown"] / max(1, count["tokens"]),
            "byte_rate": count["bytes"] / max(1, count["tokens"]),
            **{f"{side}_lengths": _lengths(count, side) for side in SIDES},
            "fill": used / max(1, count["rows"] * positions),
            "nats": count.get(NATS),
            "files": [
                f"{task}/{job.name}{SUFFIX}"
                for job in jobs
                if (job.task, job.split) == (task, split)
            ],
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "vocabulary_size": config.vocabulary_size,
        "source_length": config.source_length,
        "target_length": config.target_length,
        "tasks": tasks,
    }


def _lengths(count: Mapping[str, Any], side: str) -> dict[str, float]:
    """Tokens of a sentence: mean, median, 95 % and longest; tag and end included."""
    prefix = f"{side}{LENGTH}"
    found = {
        int(name.removeprefix(prefix)): number
        for name, number in count.items()
        if name.startswith(prefix)
    }
    lengths, numbers = np.array(sorted(found.items()), np.int64).reshape(-1, 2).T
    if not len(lengths):
        return {"mean": 0.0, "median": 0, "p95": 0, "longest": 0}
    reached = np.cumsum(numbers)
    middle, most = np.searchsorted(reached, [0.5 * reached[-1], 0.95 * reached[-1]])
    return {
        "mean": round(float((lengths * numbers).sum() / reached[-1]), 2),
        "median": int(lengths[middle]),
        "p95": int(lengths[most]),
        "longest": int(lengths[-1]),
    }


def _check(index: Mapping[str, Any]) -> None:
    lengths = index["source_length"], index["target_length"]
    for task, described in index["tasks"].items():
        for split, counts in described["splits"].items():
            dropped = counts["dropped_too_long"]
            if not counts["rows"]:
                raise UserError(
                    f"tokenize {task}: all {dropped} pairs of {split} are longer than "
                    f"{lengths[0]} source and {lengths[1]} target tokens; enlarge "
                    "tokenize.source_length and tokenize.target_length"
                )
            if dropped:
                log.warning(
                    "tokenize %s: %d of %d pairs of %s are longer than a row "
                    "(%d + %d tokens) and dropped; see dead_letters",
                    task,
                    dropped,
                    dropped + counts["examples"],
                    split,
                    *lengths,
                )
        train_split = described["splits"][TRAIN]
        log.info(
            "tokenize %s: %d pairs in %d rows, %.0f%% of positions useful",
            task,
            train_split["examples"],
            train_split["rows"],
            100 * train_split["fill"],
        )
