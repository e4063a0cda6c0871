"""The work of ``tokenize``: the vocabulary, then the graph, then the index."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components import beam_runner, manifest
from components.manifest import Manifest
from components.text_shards import SUFFIX as TEXT_SUFFIX
from components.text_shards import TRAIN, split_shards, splits
from components.tokenize.config import Config
from components.tokenize.layout import FORMAT, INDEX, NATS, SUFFIX, VERSION
from components.tokenize.shards import Job
from components.tokenize.vocabulary import (
    FILE_NAME,
    sample_sentences,
    target_tags,
    train,
)
from models.errors import UserError

log = logging.getLogger(__name__)
_REPORT = "report.json"


def run(
    config: Config, *, ingest: Path, tasks: tuple[str, ...], output: Path
) -> Manifest:
    """See `components.tokenize.run`."""
    tags = target_tags(tasks)

    def make(directory: Path) -> Mapping[str, Any]:
        from components.tokenize import graph  # Beam starts only for work

        jobs = [job for task in tasks for job in _jobs(ingest / task, task, tags[task])]
        texts = sample_sentences(ingest, tasks, config.sentences)
        for language, sentences in texts.items():
            log.info("tokenize: %d sentences of %s", len(sentences), language)
        model = train(config, texts, {tag for tag in tags.values() if tag})
        (directory / FILE_NAME).write_bytes(model)
        report = directory / _REPORT
        with beam_runner.pipeline(config.beam_options) as pipeline:
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
        inputs={"ingest": ingest},
        make=make,
    )


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
