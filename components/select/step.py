"""The work of ``select``: scores, the cut, and the test sets as they are."""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components import beam_runner, manifest
from components.manifest import Manifest
from components.select.config import Config
from components.select.layout import COUNTS, REPORT
from components.select.sampling import pairs_of, sample
from components.text_shards import TRAIN, split_shards, splits
from models.errors import UserError

if TYPE_CHECKING:
    from components.select.baseline import Baseline

log = logging.getLogger(__name__)
_LEAST_PAIRS = 100


def run(
    config: Config, *, ingest: Path, tasks: tuple[str, ...], output: Path
) -> Manifest:
    """See `components.select.run`."""

    def make(directory: Path) -> Mapping[str, Any]:
        from components.select import graph  # Beam starts only for work

        jobs = [
            graph.Job(task, index, path)
            for task in tasks
            for index, path in enumerate(_shards(ingest / task))
        ]
        for task in tasks:
            _copy_test_sets(ingest / task, directory / task)
        report = directory / REPORT
        read = manifest.load(ingest).counts
        options = beam_runner.with_workers(config.beam_options, _pairs(read, tasks))
        with beam_runner.writing_to(output):
            with beam_runner.pipeline(options) as pipeline:
                graph.build(
                    pipeline,
                    config,
                    Features(config),
                    jobs,
                    str(directory),
                    str(report),
                )
        counts = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        text = json.dumps(counts, indent=1, ensure_ascii=False)
        manifest.write_atomically(directory / COUNTS, text + "\n")
        for task in tasks:
            log.info(
                "select %s: %d of %d pairs kept, score at least %g",
                task,
                counts[task][TRAIN],
                counts[task]["read"],
                counts[task]["threshold"],
            )
        return counts

    described = manifest.plain(config)
    del described["beam_options"]  # the engine does not change the result
    return manifest.complete(
        "select",
        output,
        config={"tasks": sorted(tasks), **described},
        inputs={"ingest": ingest},
        make=make,
    )


@dataclasses.dataclass(frozen=True)
class Features:
    """Trains the cheap score of each task on a sample of it.

    Attributes:
      config: The step's configuration.
    """

    config: Config

    def scorer(self, task: str, shards: Sequence[Path]) -> Baseline:
        """See `graph.Trains`."""
        from components.select import baseline

        config = self.config
        pairs = sample(shards, config.sample, config.seed)
        sources, targets = zip(*pairs, strict=True)
        languages = task.partition("-")[::2]
        return baseline.train(
            sources,
            targets,
            languages,
            iterations=config.iterations,
            seed=config.seed,
        )


def _shards(directory: Path) -> list[Path]:
    """The shards of a task, with enough in them to learn from."""
    found = split_shards(directory, TRAIN)
    if not found:
        raise UserError(
            f"{directory}: no training shards; run ingest with this task first"
        )
    pairs = sum(1 for _ in itertools.islice(pairs_of(found), _LEAST_PAIRS))
    if pairs < _LEAST_PAIRS:
        raise UserError(
            f"select {directory.name}: {pairs} training pairs, and {_LEAST_PAIRS} are "
            "the fewest that a score can be learned from; leave out select: for so "
            "little text"
        )
    return found


def _copy_test_sets(source: Path, target: Path) -> None:
    target.mkdir()
    for split in splits(source):
        if split != TRAIN:
            for path in split_shards(source, split):
                shutil.copyfile(path, target / path.name)


def _pairs(counts: Mapping[str, Any], tasks: Sequence[str]) -> int:
    rows = [counts.get(task) for task in tasks]
    return sum(row.get(TRAIN, 0) for row in rows if isinstance(row, dict))
