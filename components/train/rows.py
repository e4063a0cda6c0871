"""Packed training rows, laid out so that any row is found at once.

The shards of ``tokenize`` are read once, one file at a time, and written as one
table a task, in which every row has the same width. Tables are mapped into
memory: all workers of a sweep share the pages they read, none decodes the shards
again, and a corpus may be larger than the memory.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.manifest import write_atomically
from components.tokenize.layout import SIDES
from components.tokenize.reader import load_index, load_parts
from models.errors import UserError

# What a step reads of a row; positions follow from the segments.
FIELDS = tuple(f"{side}_{kind}" for side in SIDES for kind in ("ids", "segments"))
_SUMMARY = "rows.json"


@dataclasses.dataclass(frozen=True)
class Rows:
    """Packed training rows of all tasks.

    Attributes:
      tables: One a task, int ``[rows, width]``: the four `FIELDS` side by side,
        then the row's sentence pairs and target tokens. In memory, or mapped.
      lengths: Positions of the source and of the target.
      examples: Sentence pairs in an average row of each task, ``[tasks]``.
      target_tokens: Target tokens in an average row of each task, ``[tasks]``.
    """

    tables: tuple[np.ndarray, ...]
    lengths: tuple[int, int]
    examples: np.ndarray
    target_tokens: np.ndarray

    @classmethod
    def join(cls, tasks: Sequence[Mapping[str, np.ndarray]]) -> Rows:
        """Rows in memory, from the columns of each task (`tokenize.reader`)."""
        tables = tuple(_table(columns, np.int32) for columns in tasks)
        lengths = tuple(tasks[0][name].shape[1] for name in FIELDS[::2])
        means = np.array([table[:, -2:].mean(axis=0) for table in tables])
        return cls(tables, lengths, means[:, 0], means[:, 1])

    @property
    def count(self) -> np.ndarray:
        """Rows of each task, int64 ``[tasks]``."""
        return np.array([len(table) for table in self.tables], np.int64)

    def read(self, task: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, ...]:
        """Rows by task and number within the task.

        Args:
          task, row: int ``[...]``, of one shape.

        Returns:
          int32 ``[..., length]`` each, in the order of `FIELDS`; then sentence
          pairs and target tokens, int32 ``[...]`` each.
        """
        source, target = self.lengths
        found = np.empty((*task.shape, 2 * source + 2 * target + 2), np.int32)
        for index, table in enumerate(self.tables):
            chosen = task == index
            found[chosen] = table[row[chosen]]
        edges = np.cumsum([source, source, target, target])
        *fields, counts = np.split(found, edges, axis=-1)
        return (*fields, counts[..., 0], counts[..., 1])


def build(tokens: Path, tasks: Sequence[str], folder: Path) -> None:
    """Writes the tables of the tasks unless they are there.

    Args:
      tokens: An artifact of ``tokenize``.
      tasks: In the order of the mixture weights. One without training rows gets an
        empty table: it may stand in a mixture with weight 0.
      folder: Where to.
    """
    if (folder / _SUMMARY).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    index = load_index(tokens)
    means = {}
    for place, task in enumerate(tasks):
        rows = training_rows(index, task)
        parts = load_parts(tokens, task, "train") if rows else ()
        found, sums = _write(folder / _name(place), index, rows, parts)
        if found != rows:
            raise UserError(
                f"{tokens}: {found} rows of {task} train in the files, {rows} in "
                "index.json; run tokenize again"
            )
        means[task] = (sums / max(rows, 1)).tolist()
    summary = {
        "tasks": means,
        "lengths": [index["source_length"], index["target_length"]],
    }
    write_atomically(folder / _SUMMARY, json.dumps(summary) + "\n")


def load(folder: Path) -> Rows:
    """The tables that `build` wrote, mapped into memory."""
    summary = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
    means = np.array(list(summary["tasks"].values()))
    tables = [_mapped(folder / _name(place)) for place in range(len(means))]
    source, target = summary["lengths"]
    return Rows(tuple(tables), (source, target), means[:, 0], means[:, 1])


def is_built(folder: Path) -> bool:
    """Whether `build` has written everything there."""
    return (folder / _SUMMARY).is_file()


def training_rows(index: Mapping[str, Any], task: str) -> int:
    """Training rows of a task by the index of an artifact of ``tokenize``."""
    splits = index["tasks"].get(task, {}).get("splits", {})
    return splits.get("train", {}).get("rows", 0)


def bytes_needed(index: Mapping[str, Any], tasks: Iterable[str]) -> int:
    """Size of the tables of these tasks."""
    rows = sum(training_rows(index, task) for task in tasks)
    return rows * _width(index) * _type(index).itemsize


def _write(
    path: Path, index: Mapping[str, Any], rows: int, parts: Iterable[Mapping[str, Any]]
) -> tuple[int, np.ndarray]:
    """Writes one table.

    Returns:
      How many rows the parts held, and their sentence pairs and target tokens.
    """
    kind = _type(index)
    header = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": (rows, _width(index)),
    }
    found, sums = 0, np.zeros(2, np.int64)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    # Written, not mapped for writing: a full disk is then an error and no crash.
    with open(temporary, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for table in _tables(parts, kind):
            file.write(table.tobytes())
            file.flush()
            found += len(table)
            sums += table[:, -2:].sum(axis=0, dtype=np.int64)
    os.replace(temporary, path)
    return found, sums


def _tables(parts: Iterable[Mapping[str, Any]], kind: np.dtype) -> Iterator[np.ndarray]:
    for part in parts:
        yield _table({**part, "examples": part["examples"][:, 0]}, kind)


def _table(columns: Mapping[str, np.ndarray], kind: np.dtype) -> np.ndarray:
    """The columns of one task side by side, int ``[rows, width]``."""
    target_tokens = (columns["target_segments"] > 0).sum(axis=1)
    counts = np.stack([columns["examples"], target_tokens], axis=1)
    fields = [columns[name] for name in FIELDS]
    return np.concatenate([*fields, counts], axis=1).astype(kind)


def _mapped(path: Path) -> np.ndarray:
    # Nothing can be mapped from a file without rows.
    table = np.load(path, mmap_mode="r") if _has_rows(path) else np.load(path)
    return table.view(np.ndarray)


def _has_rows(path: Path) -> bool:
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        (rows, _), _, _ = np.lib.format.read_array_header_1_0(file)
    return rows > 0


def _type(index: Mapping[str, Any]) -> np.dtype:
    """The narrowest type that holds ids, segment numbers and counts."""
    largest = max(
        index["vocabulary_size"], index["source_length"], index["target_length"]
    )
    return np.dtype(np.uint16 if largest <= 65536 else np.int32)


def _width(index: Mapping[str, Any]) -> int:
    return 2 * index["source_length"] + 2 * index["target_length"] + 2


def _name(place: int) -> str:
    return f"task-{place}.npy"
