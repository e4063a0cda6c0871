"""Test sets and their translations, as files to read.

A file is a table of tab-separated columns with a header: ``source``, ``reference``
(``reference_2``, ... where there are several), ``hypothesis``, ``score``, ``ended``,
``origin`` where it is known, and a column for each metric that scores sentences on
their own. It opens in any spreadsheet; ``cut -f`` gives what other tools want.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.manifest import write_atomically
from components.artifacts.origins import parts_by_origin
from components.artifacts.text_shards import read_shard, split_shards
from components.evaluate.layout import HYPOTHESES
from components.serve.lines import one_line
from models.errors import UserError

SUFFIX = ".tsv"


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of a test set and, once it has one, its translation.

    Attributes:
      source: The text.
      references: One translation by a person or more.
      origin: Original language, ``source`` or ``target``; empty when not known.
      hypothesis: The model's best translation.
      score: Of the hypothesis, see `models.nmt.search_options.SearchOptions`.
      ended: Whether the hypothesis came to an end within the maximum length.
      metrics: Column -> score of the hypothesis under that metric.
    """

    source: str
    references: tuple[str, ...]
    origin: str = ""
    hypothesis: str = ""
    score: float = 0.0
    ended: bool = False
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Translation:
    """A test set as one trial translates it; without hypotheses before that.

    Attributes:
      task, test_set: ``en-de``, ``newstest2019``.
      sentences: In the order of the test set.
    """

    task: str
    test_set: str
    sentences: tuple[Sentence, ...]

    @property
    def language(self) -> str:
        """The language that is translated into."""
        return self.task.partition("-")[2]

    @property
    def hypotheses(self) -> list[str]:
        """The hypothesis of each sentence."""
        return [sentence.hypothesis for sentence in self.sentences]

    @property
    def references(self) -> list[tuple[str, ...]]:
        """The references of each sentence."""
        return [sentence.references for sentence in self.sentences]

    def parts(self) -> dict[str, np.ndarray]:
        """The test set and its halves by original language, bool ``[sentences]``."""
        origins = tuple(sentence.origin for sentence in self.sentences)
        return parts_by_origin(origins if all(origins) else (), len(origins))

    def take(self, chosen: np.ndarray) -> Translation:
        """Some of the sentences, bool ``[sentences]``."""
        taken = (self.sentences[i] for i in np.flatnonzero(chosen))
        return dataclasses.replace(self, sentences=tuple(taken))

    def with_metric(self, column: str, scores: Sequence[float]) -> Translation:
        """With the scores of the sentences under one metric."""
        sentences = (
            dataclasses.replace(one, metrics={**one.metrics, column: float(score)})
            for one, score in zip(self.sentences, scores, strict=True)
        )
        return dataclasses.replace(self, sentences=tuple(sentences))

    def save(self, path: Path) -> None:
        """Writes the file, whole or not at all."""
        widest = max(map(len, self.references))
        rows = [_cells(sentence, widest) for sentence in self.sentences]
        lines = ["\t".join(rows[0])]
        lines += ["\t".join(map(one_line, cells.values())) for cells in rows]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join(lines) + "\n")


def translation_path(folder: Path, trial: str, task: str, test_set: str) -> Path:
    """Where an artifact of ``evaluate`` has the translations by a trial."""
    return folder / HYPOTHESES / trial / f"{task}.{test_set}{SUFFIX}"


def load_sentences(path: Path) -> tuple[Sentence, ...]:
    """Reads what `Translation.save` wrote.

    Raises:
      UserError: The file is not one of these.
    """
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = [line.split("\t") for line in file.read().split("\n")[:-1]]
    head, rows = (lines or [[]])[0], lines[1:]
    if "hypothesis" not in head or any(len(row) != len(head) for row in rows):
        raise UserError(f"{path}: not a file of translations that evaluate wrote")
    return tuple(_sentence(dict(zip(head, row, strict=True))) for row in rows)


def load_test_set(ingest: Path, task: str, test_set: str) -> Translation:
    """Reads a test set as ``ingest`` wrote it.

    Raises:
      UserError: There is no such test set.
    """
    records = [
        record
        for shard in split_shards(ingest / task, test_set)
        for record in read_shard(shard)
    ]
    if not records:
        raise UserError(f"{ingest}: no test set {test_set} of {task}; run ingest again")
    sentences = (
        Sentence(record["source"], _references(record), record.get("origin", ""))
        for record in records
    )
    return Translation(task, test_set, tuple(sentences))


def _references(record: Mapping[str, Any]) -> tuple[str, ...]:
    """All references that a person wrote; in a set of several one may be missing."""
    several = record.get("references") or [record["target"]]
    return tuple(text for text in several if text.strip()) or (record["target"],)


def _cells(sentence: Sentence, references: int) -> dict[str, str]:
    """Column -> cell; the same columns for all sentences of a test set."""
    missing = [""] * (references - len(sentence.references))
    return {
        "source": sentence.source,
        **{
            _reference_column(k): text
            for k, text in enumerate([*sentence.references, *missing])
        },
        "hypothesis": sentence.hypothesis,
        "score": f"{sentence.score:.6f}",
        "ended": str(sentence.ended).lower(),
        "origin": sentence.origin,
        **{column: f"{score:.6g}" for column, score in sentence.metrics.items()},
    }


def _sentence(cells: dict[str, str]) -> Sentence:
    """The inverse of `_cells`."""
    references = [cells.pop(name) for name in list(cells) if name.startswith("ref")]
    return Sentence(
        cells.pop("source"),
        tuple(text for text in references if text) or ("",),
        cells.pop("origin"),
        cells.pop("hypothesis"),
        float(cells.pop("score")),
        cells.pop("ended") == "true",
        {column: float(score) for column, score in cells.items()},
    )


def _reference_column(k: int) -> str:
    """``reference``, ``reference_2``, ..."""
    return "reference" if k == 0 else f"reference_{k + 1}"
