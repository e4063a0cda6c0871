"""The work of ``select``: scores, the cut, and the test sets as they are."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components import tokenize
from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.text_shards import TRAIN, split_shards, training_pairs
from components.engines import beam_runner
from components.select.config import Config
from components.select.corruption import copy_test_sets
from components.select.feature_score import FeatureScores
from components.select.sampling import pairs_of
from components.select.scoring_models import ScoringModels
from models.errors import UserError

log = logging.getLogger(__name__)
_LEAST_PAIRS = 100


def run(
    config: Config,
    *,
    ingest: Path,
    tasks: tuple[str, ...],
    output: Path,
    base: Path,
    tokenize: tokenize.Config,
) -> Manifest:
    """See `components.select.run`."""
    described = manifest.plain(config)
    del described["beam_options"]  # the engine does not change the result
    inputs, models = {"ingest": ingest}, None
    if config.contrastive is not None:
        folder = output.with_name(f".{output.name}-models")
        models = ScoringModels(config, tokenize, tasks, base, folder)
        inputs |= models.read_better_text(ingest)
        described["tokenize"] = {**manifest.plain(tokenize), "beam_options": []}

    def make(directory: Path) -> Mapping[str, Any]:
        from components.select import graph  # Beam starts only for work

        shards = {task: _shards(ingest / task) for task in tasks}
        jobs = [
            graph.Job(task, index, len(paths), path)
            for task, paths in shards.items()
            for index, path in enumerate(paths)
        ]
        for task in tasks:
            copy_test_sets(ingest / task, directory / task)
        if models is not None:
            models.make(ingest)
        pairs = sum(training_pairs(manifest.load(ingest), tasks).values())
        options = beam_runner.with_workers(config.beam_options, pairs)
        scorers = models or FeatureScores(config)
        with beam_runner.writing_to(output):
            with beam_runner.pipeline(options) as pipeline:
                graph.build(pipeline, config, scorers, jobs, str(directory))
        counts = json.loads((directory / graph.COUNTS).read_text(encoding="utf-8"))
        for task in tasks:
            log.info(
                "select %s: %d of %d pairs kept, score at least %g",
                task,
                counts[task][TRAIN],
                counts[task]["read"],
                counts[task]["threshold"],
            )
        return counts

    return manifest.complete(
        "select",
        output,
        config={"tasks": sorted(tasks), **described},
        inputs=inputs,
        make=make,
    )


def _shards(directory: Path) -> list[Path]:
    """The shards of a task, with enough in them to learn from."""
    shards = split_shards(directory, TRAIN)
    if not shards:
        raise UserError(
            f"{directory}: no training shards; run ingest with this task first"
        )
    pairs = list(itertools.islice(pairs_of(shards), 10 * _LEAST_PAIRS))
    sources = len({source for source, _ in pairs})
    if sources < _LEAST_PAIRS:
        raise UserError(
            f"select {directory.name}: {len(pairs)} training pairs of {sources} "
            f"different sources; expected at least {_LEAST_PAIRS} to learn a score "
            "from; leave out select: for so little text"
        )
    return shards
