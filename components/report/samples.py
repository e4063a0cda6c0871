"""Translations of the same sentences by models from small to large."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from components.artifacts.metrics_table import MetricsRow
from components.evaluate.translation import load_sentences, translation_path

_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the sentences by length, one each


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sentence: its two sides, and what each model made of it, small to large."""

    source: str
    reference: str
    hypotheses: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TaskSamples:
    """The sentences of one task.

    Attributes:
      task, test_set: Whose.
      models: The final row of each model, small to large.
      samples: Sentences from short to long.
    """

    task: str
    test_set: str
    models: tuple[MetricsRow, ...]
    samples: tuple[Sample, ...]


def read(
    workdir: Path, rows: Sequence[MetricsRow], test_set: str | None
) -> list[TaskSamples]:
    """The samples of every task that was translated.

    Args:
      workdir: Folder of the run.
      rows: The metrics table.
      test_set: Whose losses the page shows.
    """
    finals = [row for row in rows if row.loss_kind == "final"]
    found = []
    for task in dict.fromkeys(row.task for row in finals):
        models = choose(workdir, [row for row in finals if row.task == task], test_set)
        if models:
            trained, paths = zip(*models, strict=True)
            sentences = tuple(_sentences(paths))
            found.append(TaskSamples(task, trained[0].test_set, trained, sentences))
    return found


def choose(
    workdir: Path, finals: Sequence[MetricsRow], test_set: str | None
) -> list[tuple[MetricsRow, Path]]:
    """One trained model of each size, small to large, with its translations.

    All of one mixture where there is one that every size has: the one that is
    nearest to equal weights.
    """
    wanted = (test_set or "").partition(":")[0]
    folder = workdir / "evaluate"
    found = [
        (row, path)
        for row in finals
        if (path := translation_path(folder, row.trial, row.task, row.test_set))
        and path.is_file()
    ]
    names = dict.fromkeys(row.test_set for row, _ in found)
    if not names:
        return []
    name = wanted if wanted in names else next(iter(names))
    found = [(row, path) for row, path in found if row.test_set == name]
    sizes = {row.size for row, _ in found}
    everywhere = {
        mixture
        for mixture in {row.mixture for row, _ in found}
        if {row.size for row, _ in found if row.mixture == mixture} == sizes
    }
    best: dict[str, tuple[MetricsRow, Path]] = {}
    # Of the rows of one trial the whole test set comes first.
    for row, path in sorted(
        found,
        key=lambda pair: (
            pair[0].mixture not in everywhere,
            abs(pair[0].p - 0.5),
            pair[0].seed,
            pair[0].origin in ("source", "target"),
        ),
    ):
        best.setdefault(row.size, (row, path))
    return sorted(best.values(), key=lambda pair: pair[0].n)


def _sentences(paths: Sequence[Path]) -> list[Sample]:
    """A few sentences of all lengths and what each model made of them."""
    by_model = [load_sentences(path) for path in paths]
    first = by_model[0]
    order = sorted(range(len(first)), key=lambda i: len(first[i].source))
    places = dict.fromkeys(order[int(share * len(order))] for share in _SHARES)
    return [
        Sample(
            first[i].source,
            first[i].references[0],
            tuple(sentences[i].hypothesis for sentences in by_model),
        )
        for i in places
    ]
