"""Translates the test sets with every trial and scores the translations."""

from __future__ import annotations

import dataclasses
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.text_shards import TRAIN
from components.artifacts.token_index import TokenIndex
from components.evaluate import hypotheses
from components.evaluate.artifacts import Artifacts
from components.evaluate.config import Quality
from components.evaluate.decoding import Translator
from components.evaluate.hypotheses import TestText, Translation
from components.evaluate.layout import QUALITY
from components.evaluate.scores import Metric, Scores
from components.evaluate.trained import Trained, load_trained
from components.train.layout import kept_weights, load_record
from models.errors import UserError
from models.nmt.search_options import SearchOptions

log = logging.getLogger(__name__)

_KEY = ("trial", "step", "task", "test_set", "origin")
Key = tuple[str, int, str, str, str]
"""Trial, step, task, test set, origin."""


def measure(
    config: Quality, places: Artifacts, trials: Sequence[str]
) -> dict[Key, dict[str, Any]]:
    """Translates and scores; writes the translations and ``quality.json``.

    A metric that cannot be had is said and left out, the others are computed.

    Returns:
      Trial, step, task, test set, origin -> the cells of the metrics table.
    """
    metrics, problems = build_metrics(config, places.base)
    texts = _texts(config, places)
    for text in texts:
        problems += [found for m in metrics if (found := m.problem(text.language))]
    problems = list(dict.fromkeys(problems))
    for problem in problems:
        log.warning("evaluate: %s", problem)
    found: dict[Key, dict[str, Any]] = {}
    used: set[str] = set()
    decoders = _Decoders(config.search, places)
    for name in trials:
        record = load_record(places.train / name)
        if record["status"] != "done":
            continue
        last = record["steps"]
        for step in _steps(config, places.train / name, last):
            folder = name if step == last else f"{name}/step-{step:08d}"
            weights = None if step == last else step
            for made in _translations(config, decoders, name, weights, texts, used):
                cells = _score(metrics, places.directory, folder, made)
                text = made.text
                found |= {
                    (name, step, text.task, text.name, origin): own
                    for origin, own in cells.items()
                }
    _forget(places.kept, used)
    record = {
        "metrics": [metric.name for metric in metrics],
        "problems": problems,
        "search": manifest.plain(config.search),
        "scores": [
            dict(zip(_KEY, key, strict=True)) | cells for key, cells in found.items()
        ],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    manifest.write_atomically(places.directory / QUALITY, text + "\n")
    return found


def with_quality(
    row: MetricsRow, found: Mapping[Key, Mapping[str, Any]], *, curve: bool
) -> MetricsRow:
    """A row with its cells of translation quality, where there are any.

    Args:
      row: Of the metrics table.
      found: What `measure` returned.
      curve: Whether rows of learning curves get them too, or only final rows.
    """
    key = (row.trial, row.step, row.task, row.test_set, row.origin)
    if key not in found or not (curve or row.loss_kind == "final"):
        return row
    names = {field.name for field in dataclasses.fields(MetricsRow)}
    cells = {name: cell for name, cell in found[key].items() if name in names}
    return dataclasses.replace(row, **cells)


def build_metrics(config: Quality, base: Path) -> tuple[list[Metric], list[str]]:
    """The metrics that can be had, and what is wrong with the others."""
    metrics: list[Metric] = []
    problems = []
    for name in config.metrics:
        try:
            metrics.append(_build(name, config, base))
        except UserError as error:
            problems.append(f"{name} is left out: {error}")
        except ImportError as error:
            problems.append(f"{name} is left out: {error.name} is not installed")
    return metrics, problems


def _build(name: str, config: Quality, base: Path) -> Metric:
    if name == "bleurt":
        from components.evaluate.bleurt import Bleurt

        return Bleurt(base / config.bleurt)
    if name == "comet":
        from components.evaluate.comet import Comet

        return Comet(config.comet)
    from components.evaluate.overlap_metrics import OverlapMetric

    return OverlapMetric(name)


def _texts(config: Quality, places: Artifacts) -> list[TestText]:
    """The test sets to translate."""
    tasks = TokenIndex.load(places.tokens).tasks
    known = {name for task in tasks.values() for name in task.splits if name != TRAIN}
    for name in config.test_sets:
        if name not in known:
            raise UserError(
                f"evaluate.quality.test_sets: no test set {name}; there are "
                f"{', '.join(sorted(known))}"
            )
    wanted = config.test_sets or known
    return [
        hypotheses.read_text(places.ingest, task, name)
        for task, described in tasks.items()
        for name in described.splits
        if name in wanted and name != TRAIN
    ]


class _Decoders:
    """Translators, one a size: compiled once, whatever weights are in them.

    Args:
      options: Of the search.
      places: Where the trials lie.
    """

    def __init__(self, options: SearchOptions, places: Artifacts):
        self.options, self.places = options, places
        self._translators: dict[str, Translator] = {}
        self._loaded: tuple[tuple[str, int | None], Trained] | None = None

    def of(self, trial: str, step: int | None) -> tuple[Trained, Translator]:
        """The translator of a trial, with its weights at a step or its final ones."""
        folder = self.places.train / trial
        size = manifest.load(folder).config["trial"]["size"]
        known = self._translators.get(size)
        if self._loaded is None or self._loaded[0] != (trial, step):
            model = known.model if known else None
            trained = load_trained(folder, self.places.tokens, step=step, into=model)
            self._loaded = (trial, step), trained
        trained = self._loaded[1]
        if known is None:
            known = self._translators[size] = Translator(trained.model, self.options)
        return trained, known


def _steps(config: Quality, folder: Path, last: int) -> list[int]:
    """The steps whose weights translate, the last one last."""
    if not config.curve:
        return [last]
    kept = sorted(kept_weights(folder))
    if not kept:
        raise UserError(
            f"evaluate.quality.curve: {folder} has kept no weights of its evaluations; "
            "set train.keep_weights and train again"
        )
    return [*(step for step in kept if step != last), last]


def _translations(
    config: Quality,
    decoders: _Decoders,
    trial: str,
    step: int | None,
    texts: Sequence[TestText],
    used: set[str],
) -> Iterator[Translation]:
    """A trial's translations of the test sets, kept ones where they are there.

    Args:
      config: What to translate.
      decoders: To translate with.
      trial: Its name.
      step: Of the evaluation whose weights translate; its final ones when ``None``.
      texts: The test sets.
      used: Gets the keys of the translations.
    """
    places = decoders.places
    described = manifest.load(places.train / trial)
    weights = dict(described.config["trial"]["mixture"])
    for text in texts:
        if not config.zero_shot and not weights.get(text.task, 0) > 0:
            continue
        key = manifest.key_of(
            "translation",
            {
                "search": config.search,
                "task": text.task,
                "test_set": text.name,
                "step": step,
            },
            {"trial": described.key, "ingest": manifest.digest_input(places.ingest)},
        )
        used.add(key)
        path = places.kept / f"{key}{hypotheses.SUFFIX}"
        if not path.is_file():
            hypotheses.write(path, translate(*decoders.of(trial, step), text))
            log.info("evaluate: %s translated %s %s", trial, text.task, text.name)
        yield _read_back(path, text)


def translate(trained: Trained, translator: Translator, text: TestText) -> Translation:
    """Translates one test set."""
    ids = trained.encode(text.sources, trained.tags[text.task])
    best = [found[0] for found in translator.translate_ids(ids)]
    return Translation(
        text,
        tuple(hypotheses.one_line(trained.vocabulary.decode(h.ids)) for h in best),
        tuple(h.score for h in best),
        tuple(h.ended for h in best),
    )


def _read_back(path: Path, text: TestText) -> Translation:
    rows = hypotheses.read(path)
    return Translation(
        text,
        tuple(row["hypothesis"] for row in rows),
        tuple(float(row["score"]) for row in rows),
        tuple(row["ended"] == "true" for row in rows),
    )


def _score(
    metrics: Sequence[Metric], directory: Path, folder: str, translation: Translation
) -> dict[str, dict[str, Any]]:
    """Scores a translation and writes it; origin -> cells."""
    text = translation.text
    parts = text.parts()
    scores: dict[str, Scores] = {
        metric.column: metric.score(translation, parts) for metric in metrics
    }
    columns = {
        name: found.by_sentence
        for name, found in scores.items()
        if found.by_sentence is not None
    }
    path = hypotheses.file_of(directory, folder, text.task, text.name)
    hypotheses.write(path, translation, columns)
    return {
        origin: _cells(scores, origin, translation, own)
        for origin, own in parts.items()
    }


def _cells(
    scores: Mapping[str, Scores], origin: str, translation: Translation, own: np.ndarray
) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "translated": int(own.sum()),
        "unfinished": int((own & ~np.array(translation.ended)).sum()),
    }
    for column, found in scores.items():
        cells[column] = found.values[origin]
        cells[f"{column}_signature"] = found.signatures[origin]
    return cells


def _forget(kept: Path, used: set[str]) -> None:
    """Removes kept translations that nothing uses any more."""
    for path in kept.glob(f"*{hypotheses.SUFFIX}"):
        if path.stem not in used:
            path.unlink()
    if kept.is_dir() and not any(kept.iterdir()):
        shutil.rmtree(kept)
