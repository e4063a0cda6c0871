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

from components import tokenize
from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.text_shards import TRAIN, split_shards, splits
from components.artifacts.token_index import VOCABULARY
from components.engines import beam_runner
from components.select.config import Config
from components.select.layout import COUNTS, REPORT
from components.select.sampling import pairs_of, sample
from components.select.scoring_models import Maker
from models.errors import UserError

if TYPE_CHECKING:
    from components.select.baseline import Baseline
    from components.select.combined import Combined
    from components.select.contrastive import Contrast

log = logging.getLogger(__name__)
_LEAST_PAIRS = 100
_MEASURED = 2000  # pairs by which the spread of a score is known well enough


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
    inputs, maker = {"ingest": ingest}, None
    if config.contrastive is not None:
        folder = output.with_name(f".{output.name}-models")
        maker = Maker(config, tokenize, tasks, base, folder)
        inputs |= maker.read_better_text(ingest)
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
            _copy_test_sets(ingest / task, directory / task)
        trainer = Contrasts(maker, maker.make(ingest)) if maker else Features(config)
        report = directory / REPORT
        pairs = _pairs(manifest.load(ingest).counts, tasks)
        options = beam_runner.with_workers(config.beam_options, pairs)
        with beam_runner.writing_to(output):
            with beam_runner.pipeline(options) as pipeline:
                places = str(directory), str(report)
                graph.build(pipeline, config, trainer, jobs, *places)
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

    return manifest.complete(
        "select",
        output,
        config={"tasks": sorted(tasks), **described},
        inputs=inputs,
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


@dataclasses.dataclass(frozen=True)
class Contrasts:
    """Hands out the contrastive score of each task, with the cheap one if asked for.

    Attributes:
      maker: Made the models.
      models: Their folder.
    """

    maker: Maker
    models: Path

    def scorer(self, task: str, shards: Sequence[Path]) -> Contrast | Combined:
        """See `graph.Trains`; the models have seen all shards of all tasks."""
        from components.select.combined import combine
        from components.select.contrastive import Contrast
        from components.tokenize.vocabulary import target_tags

        vocabulary = (self.maker.tokens / VOCABULARY).read_bytes()
        tag = target_tags(self.maker.tasks)[task]
        key = manifest.load(self.models).key
        options, rows = self.maker.options, self.maker.tokenize
        texts = options.tuned, options.against
        contrast = Contrast(task, tag, self.models, key, *texts, vocabulary, rows)
        if not options.features:
            return contrast
        config = self.maker.config
        cheap = Features(config).scorer(task, shards)
        pairs = sample(shards, _MEASURED, config.seed)
        return combine((contrast, cheap), *map(list, zip(*pairs, strict=True)))


def _shards(directory: Path) -> list[Path]:
    """The shards of a task, with enough in them to learn from."""
    found = split_shards(directory, TRAIN)
    if not found:
        raise UserError(
            f"{directory}: no training shards; run ingest with this task first"
        )
    pairs = list(itertools.islice(pairs_of(found), 10 * _LEAST_PAIRS))
    sources = len({source for source, _ in pairs})
    if sources < _LEAST_PAIRS:
        raise UserError(
            f"select {directory.name}: {len(pairs)} training pairs of {sources} "
            f"different sources, and {_LEAST_PAIRS} are the fewest that a score can be "
            "learned from; leave out select: for so little text"
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
