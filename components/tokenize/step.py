"""The work of ``tokenize``: the vocabulary, then the graph, then what to say of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.text_shards import SUFFIX as TEXT_SUFFIX
from components.artifacts.text_shards import (
    TRAIN,
    split_shards,
    splits,
    training_pairs,
)
from components.artifacts.token_index import VOCABULARY, TokenIndex
from components.engines import beam_runner
from components.tokenize import vocabulary, vocabulary_text
from components.tokenize.config import Config
from components.tokenize.shards import Job
from models.errors import UserError

log = logging.getLogger(__name__)


def run(
    config: Config, *, ingest: Path, tasks: tuple[str, ...], output: Path, base: Path
) -> Manifest:
    """See `components.tokenize.run`."""
    tags = vocabulary.target_tags(tasks)
    needed = {tag for tag in tags.values() if tag}
    inputs = {"ingest": ingest}
    if config.model is not None:
        inputs["model"] = base / config.model
        vocabulary.check(inputs["model"], config, needed)

    def make(directory: Path) -> Mapping[str, Any]:
        from components.tokenize import graph  # Beam starts only for work

        jobs = [job for task in tasks for job in _jobs(ingest / task, task, tags[task])]
        pairs = training_pairs(manifest.load(ingest), tasks)
        if config.model is not None:
            model = inputs["model"].read_bytes()
        else:
            wanted = config.sentences, config.temperature
            texts = vocabulary_text.read(ingest, pairs, *wanted)
            for language, sentences in texts.items():
                log.info("tokenize: %d sentences of %s", len(sentences), language)
            model = vocabulary.train(config, texts, needed)
        (directory / VOCABULARY).write_bytes(model)
        options = beam_runner.with_workers(config.beam_options, sum(pairs.values()))
        with beam_runner.writing_to(output):
            with beam_runner.pipeline(options) as pipeline:
                graph.build(pipeline, config, model, jobs, str(directory))
        index = TokenIndex.load(directory)
        _check(index)
        return manifest.plain(index)["tasks"]

    described = manifest.plain(config)
    del described["beam_options"]  # the engine does not change the result
    return manifest.complete(
        "tokenize",
        output,
        config={"tasks": list(tasks), **described},
        inputs=inputs,
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


def _check(index: TokenIndex) -> None:
    """Says what does not fit in the rows.

    Raises:
      UserError: A split has no rows.
    """
    lengths = index.source_length, index.target_length
    for task, described in index.tasks.items():
        for name, split in described.splits.items():
            if not split.rows:
                raise UserError(
                    f"tokenize {task}: all {split.dropped_too_long} pairs of {name} "
                    f"are longer than {lengths[0]} source and {lengths[1]} target "
                    "tokens; enlarge tokenize.source_length and tokenize.target_length"
                )
            if split.dropped_too_long:
                log.warning(
                    "tokenize %s: %d of %d pairs of %s are longer than a row "
                    "(%d + %d tokens) and dropped; see dead_letters",
                    task,
                    split.dropped_too_long,
                    split.dropped_too_long + split.examples,
                    name,
                    *lengths,
                )
        log.info(
            "tokenize %s: %d pairs in %d rows, %.0f%% of positions useful",
            task,
            described.splits[TRAIN].examples,
            described.splits[TRAIN].rows,
            100 * described.splits[TRAIN].fill,
        )
