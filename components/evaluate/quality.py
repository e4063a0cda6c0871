"""Translates the test sets with every trial and scores the translations."""

from __future__ import annotations

import dataclasses
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from components.artifacts import manifest
from components.artifacts.text_shards import TRAIN
from components.artifacts.token_index import TokenIndex
from components.artifacts.trial_folder import TrialRecord, kept_weights
from components.evaluate.config import Quality
from components.evaluate.layout import Folders
from components.evaluate.metric import Metric, Scores
from components.evaluate.quality_record import QualityRecord, QualityScore
from components.evaluate.translation import (
    SUFFIX,
    Translation,
    load_sentences,
    load_test_set,
    translation_path,
)
from components.serve.lines import one_line
from components.serve.trained import Trained, load_trained
from components.serve.translator import Translator
from models.errors import UserError

log = logging.getLogger(__name__)


def measure(config: Quality, folders: Folders, trials: Sequence[str]) -> QualityRecord:
    """Translates and scores; writes the translations and ``quality.json``.

    A metric that cannot be computed is reported and left out.
    """
    metrics, problems = build_metrics(config, folders.base)
    test_sets = _test_sets(config, folders)
    for test_set in test_sets:
        problems += [found for m in metrics if (found := m.problem(test_set.language))]
    problems = list(dict.fromkeys(problems))
    for problem in problems:
        log.warning("evaluate: %s", problem)
    scores: list[QualityScore] = []
    used: set[Path] = set()
    for trial in trials:
        record = TrialRecord.load(folders.train / trial)
        if record.status != "done":
            continue
        last = record.steps
        for step in _steps(config, folders.train / trial, last):
            name = trial if step == last else f"{trial}/step-{step:08d}"
            weights = None if step == last else step
            for translation, path in _translations(
                config, folders, trial, weights, test_sets
            ):
                used.add(path)
                scores += _score(
                    metrics, folders.output, name, trial, step, translation
                )
    _forget(folders.translations, used)
    quality = QualityRecord(
        tuple(metric.name for metric in metrics),
        tuple(problems),
        config.search,
        tuple(scores),
    )
    quality.save(folders.output)
    return quality


def build_metrics(config: Quality, base: Path) -> tuple[list[Metric], list[str]]:
    """The metrics that can be computed, and what is wrong with the others."""
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

        return Bleurt(base / str(config.bleurt))
    if name == "comet":
        from components.evaluate.comet import Comet

        return Comet(config.comet)
    from components.evaluate.overlap_metrics import OverlapMetric

    return OverlapMetric(name)


def _test_sets(config: Quality, folders: Folders) -> list[Translation]:
    """The test sets to translate."""
    tasks = TokenIndex.load(folders.tokens).tasks
    known = {name for task in tasks.values() for name in task.splits if name != TRAIN}
    for name in config.test_sets:
        if name not in known:
            raise UserError(
                f"evaluate.quality.test_sets: no test set {name}; there are "
                f"{', '.join(sorted(known))}"
            )
    if folders.ingest is None:
        raise UserError("evaluate.quality: needs the text that ingest wrote")
    wanted = config.test_sets or known
    return [
        load_test_set(folders.ingest, task, name)
        for task, described in tasks.items()
        for name in described.splits
        if name in wanted and name != TRAIN
    ]


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
    folders: Folders,
    trial: str,
    step: int | None,
    test_sets: Sequence[Translation],
) -> Iterator[tuple[Translation, Path]]:
    """A trial's translations of the test sets, and where each is kept.

    What an earlier evaluation has translated is not translated again.

    Args:
      config: What to translate.
      folders: Where everything lies.
      trial: Its name.
      step: Of the evaluation whose weights translate; its final ones when ``None``.
      test_sets: What to translate.
    """
    described = manifest.load(folders.train / trial)
    mixture = dict(described.config["trial"]["mixture"])
    trained = translator = None
    for test_set in test_sets:
        task = test_set.task
        if not config.zero_shot and not mixture.get(task, 0) > 0:
            continue
        what = {"search": config.search, "task": task, "test_set": test_set.test_set}
        inputs = {
            "trial": described.key,
            "ingest": manifest.digest_input(folders.ingest),
        }
        key = manifest.key_of("translation", what | {"step": step}, inputs)
        path = folders.translations / f"{key}{SUFFIX}"
        if not path.is_file():
            if trained is None or translator is None:
                trained = load_trained(folders.train / trial, folders.tokens, step=step)
                translator = Translator(trained, config.search)
            translate(test_set, trained, translator).save(path)
            log.info("evaluate: %s translated %s %s", trial, task, test_set.test_set)
        yield dataclasses.replace(test_set, sentences=load_sentences(path)), path


def translate(
    test_set: Translation, trained: Trained, translator: Translator
) -> Translation:
    """A test set with the hypotheses of a model."""
    sources = [sentence.source for sentence in test_set.sentences]
    ids = trained.encode(sources, trained.tags[test_set.task])
    sentences = (
        dataclasses.replace(
            sentence,
            hypothesis=one_line(trained.vocabulary.decode(best.ids)),
            score=best.score,
            ended=best.ended,
        )
        for sentence, (best, *_) in zip(
            test_set.sentences, translator.translate(ids), strict=True
        )
    )
    return dataclasses.replace(test_set, sentences=tuple(sentences))


def _score(
    metrics: Sequence[Metric],
    directory: Path,
    name: str,
    trial: str,
    step: int,
    translation: Translation,
) -> list[QualityScore]:
    """Scores a translation and its parts, and writes it to the folder ``name``."""
    scores: dict[str, Scores] = {}
    for metric in metrics:
        found = scores[metric.column] = metric.score(translation)
        if found.by_sentence is not None:
            translation = translation.with_metric(metric.column, found.by_sentence)
    task, test_set = translation.task, translation.test_set
    translation.save(translation_path(directory, name, task, test_set))
    ended = np.array([sentence.ended for sentence in translation.sentences])
    return [
        QualityScore(
            trial, step, task, test_set, origin,
            sentences=int(own.sum()),
            unfinished=int((own & ~ended).sum()),
            metrics={
                name: value
                for column, found in scores.items()
                for name, value in (
                    (column, found.values[origin]),
                    (f"{column}_signature", found.signatures[origin]),
                )
            },
        )
        for origin, own in translation.parts().items()
    ]  # fmt: skip


def _forget(folder: Path, used: set[Path]) -> None:
    """Removes kept translations that nothing uses any more."""
    for path in folder.glob(f"*{SUFFIX}"):
        if path not in used:
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        shutil.rmtree(folder)
