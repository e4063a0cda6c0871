"""``index.json`` of ``tokenize``: what its rows hold, counted, and in which files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.artifacts.manifest import write_atomically
from components.artifacts.text_shards import SUFFIX, TRAIN
from models.errors import UserError

FILE_NAME = "index.json"
VOCABULARY = "vocabulary.model"
_FORMAT = {"format": "polyscale.tokens", "version": 2}


def too_long_file(task: str, shard: str) -> str:
    """Where the pairs of a text shard that are longer than a row are, as text shards
    are; ``shard`` is its name without an ending."""
    return f"dead_letters/{task}-{shard}{SUFFIX}"


@dataclasses.dataclass(frozen=True)
class SentenceLengths:
    """Tokens of a sentence, its tag and end included: 95 % are at most ``p95``."""

    mean: float
    median: int
    p95: int
    longest: int


@dataclasses.dataclass(frozen=True)
class SplitTokens:
    """One split of one task.

    Attributes:
      rows: Packed rows.
      examples: Sentence pairs in them.
      source_tokens, target_tokens: Tokens in them, without padding.
      dropped_too_long: Sentence pairs longer than a row.
      unknown_rate: Share of all tokens that are unknown.
      byte_rate: Share that are bytes of a character the vocabulary lacks.
      source_lengths, target_lengths: Of all sentences.
      fill: Share of the positions of the rows that hold a token.
      nats: Sum of -ln P(target | source) of the pairs in the rows, where the process
        that made the text is known; else None.
      files: The shards, relative to the artifact, in order.
    """

    rows: int
    examples: int
    source_tokens: int
    target_tokens: int
    dropped_too_long: int
    unknown_rate: float
    byte_rate: float
    source_lengths: SentenceLengths
    target_lengths: SentenceLengths
    fill: float
    nats: float | None
    files: tuple[str, ...]

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> SplitTokens:
        """A split as JSON has it."""
        lengths = {
            name: SentenceLengths(**record[name])
            for name in ("source_lengths", "target_lengths")
        }
        return cls(**{**record, **lengths, "files": tuple(record["files"])})


@dataclasses.dataclass(frozen=True)
class TaskTokens:
    """One task.

    Attributes:
      tag: What every source begins with, such as ``<2de>``, or None.
      splits: ``train`` or the name of a test set -> what it holds.
    """

    tag: str | None
    splits: Mapping[str, SplitTokens]

    @property
    def train(self) -> SplitTokens | None:
        """The training split, if there is any text to train on."""
        split = self.splits.get(TRAIN)
        return split if split and split.rows else None


@dataclasses.dataclass(frozen=True)
class TokenIndex:
    """What an artifact of ``tokenize`` holds.

    Attributes:
      vocabulary_size: Pieces of the vocabulary.
      source_length, target_length: Positions of either side of a row.
      tasks: Task -> what it holds.
    """

    vocabulary_size: int
    source_length: int
    target_length: int
    tasks: Mapping[str, TaskTokens]

    @classmethod
    def load(cls, directory: Path) -> TokenIndex:
        """The index of an artifact of ``tokenize``.

        Raises:
          UserError: The folder is not such an artifact, or from another version.
        """
        path = directory / FILE_NAME
        if not path.is_file():
            raise UserError(f"{directory}: no {FILE_NAME}; run tokenize first")
        record = json.loads(path.read_text(encoding="utf-8"))
        version = {name: record.pop(name, None) for name in _FORMAT}
        if version != _FORMAT:
            raise UserError(
                f"{path}: {version['format']} of version {version['version']}; "
                f"expected {_FORMAT['format']} of version {_FORMAT['version']}; make "
                "it again with --force tokenize"
            )
        tasks = {
            task: TaskTokens(
                described["tag"],
                {
                    split: SplitTokens.parse(counts)
                    for split, counts in described["splits"].items()
                },
            )
            for task, described in record["tasks"].items()
        }
        return cls(**{**record, "tasks": tasks})

    def text(self) -> str:
        """The text of ``index.json``."""
        record = {**_FORMAT, **dataclasses.asdict(self)}
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"

    def save(self, directory: Path) -> None:
        """Writes ``index.json``."""
        write_atomically(directory / FILE_NAME, self.text())

    def training_rows(self, task: str) -> int:
        """Training rows of a task; 0 when it has none, or is not here."""
        tokens = self.tasks.get(task)
        return tokens.train.rows if tokens and tokens.train else 0
