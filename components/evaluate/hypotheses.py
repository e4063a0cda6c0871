"""Translations of a test set beside source and references, as files to read.

A file is a table of tab-separated columns with a header: ``source``, ``reference``
(``reference_2``, ... where there are several), ``hypothesis``, ``score``, ``ended``,
``origin`` where it is known, and a column for each metric that scores sentences on
their own. It opens in any spreadsheet; ``cut -f`` gives what other tools want.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.artifacts.manifest import write_atomically
from components.artifacts.origins import parts_by_origin
from components.artifacts.text_shards import read_shard, split_shards
from components.evaluate.layout import HYPOTHESES
from models.errors import UserError

SUFFIX = ".tsv"
_LINE_ENDS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


@dataclasses.dataclass(frozen=True)
class TestText:
    """The text of one test set.

    Attributes:
      task, name: ``en-de``, ``newstest2019``.
      sources: One text a sentence.
      references: One or more texts a sentence.
      origins: Original language of each sentence; empty when it is not known.
    """

    __test__ = False  # not a test of pytest's

    task: str
    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    origins: tuple[str, ...] = ()

    def parts(self) -> dict[str, np.ndarray]:
        """The test set and its halves by original language."""
        return parts_by_origin(self.origins, len(self.sources))

    @property
    def language(self) -> str:
        """The language that is translated into."""
        return self.task.partition("-")[2]


@dataclasses.dataclass(frozen=True)
class Translation:
    """A test set as one trial translates it.

    Attributes:
      text: The test set.
      hypotheses: The best translation of each sentence.
      scores: Of each, ``log P / length ** normalisation``.
      ended: Whether each came to an end within the maximum length.
    """

    text: TestText
    hypotheses: tuple[str, ...]
    scores: tuple[float, ...]
    ended: tuple[bool, ...]


def read_text(ingest: Path, task: str, name: str) -> TestText:
    """Reads a test set as ``ingest`` wrote it.

    Raises:
      UserError: There is no such test set.
    """
    records = [
        record
        for shard in split_shards(ingest / task, name)
        for record in read_shard(shard)
    ]
    if not records:
        raise UserError(f"{ingest}: no test set {name} of {task}; run ingest again")
    origins = tuple(record.get("origin", "") for record in records)
    return TestText(
        task,
        name,
        tuple(record["source"] for record in records),
        tuple(_references(record) for record in records),
        origins if all(origins) else (),
    )


def _references(record: Mapping) -> tuple[str, ...]:
    """All references that a person wrote; in a set of several one may be missing."""
    several = record.get("references") or [record["target"]]
    return tuple(text for text in several if text.strip()) or (record["target"],)


def one_line(text: str) -> str:
    """A translation as one line and one cell, whatever the model wrote."""
    return _LINE_ENDS.sub(" ", text).strip()


def file_of(directory: Path, trial: str, task: str, name: str) -> Path:
    """Where the translations of a test set by a trial lie in an artifact."""
    return directory / HYPOTHESES / trial / f"{task}.{name}{SUFFIX}"


def write(
    path: Path,
    translation: Translation,
    sentence_scores: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Writes a file of translations, whole or not at all."""
    text = translation.text
    widest = max(map(len, text.references))
    extra: dict[str, Sequence[str]] = {"origin": text.origins} if text.origins else {}
    extra |= {
        name: [f"{score:.6g}" for score in scores]
        for name, scores in (sentence_scores or {}).items()
    }
    names = [reference_column(k) for k in range(widest)]
    head = ["source", *names, "hypothesis", "score", "ended", *extra]
    rows = zip(
        text.sources,
        (_filled(references, widest) for references in text.references),
        translation.hypotheses,
        translation.scores,
        translation.ended,
        *extra.values(),
        strict=True,
    )
    lines = ["\t".join(head)] + [
        "\t".join(
            one_line(cell)
            for cell in (source, *references, hypothesis, f"{score:.6f}",
                         str(ended).lower(), *others)
        )
        for source, references, hypothesis, score, ended, *others in rows
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "\n".join(lines) + "\n")


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of translations.

    Raises:
      UserError: The file is not one of these.
    """
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")[:-1]
    head = lines[0].split("\t") if lines else []
    rows = [line.split("\t") for line in lines[1:]]
    if "hypothesis" not in head or any(len(row) != len(head) for row in rows):
        raise UserError(f"{path}: not a file of translations that evaluate wrote")
    return [dict(zip(head, row, strict=True)) for row in rows]


def reference_column(k: int) -> str:
    """``reference``, ``reference_2``, ..."""
    return "reference" if k == 0 else f"reference_{k + 1}"


def _filled(references: Sequence[str], width: int) -> list[str]:
    return [*references, *[""] * (width - len(references))]
