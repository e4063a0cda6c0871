"""Packed rows in memory, for the trainer and the evaluator; NumPy only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.tokenize import records
from components.tokenize.layout import (
    EXAMPLES,
    FORMAT,
    INDEX,
    NATS,
    ORIGINS,
    SENTENCE_IDS,
    VERSION,
    row_columns,
)
from models.errors import UserError

NO_SENTENCE = -1
_PADDING = {SENTENCE_IDS: NO_SENTENCE, NATS: np.nan, ORIGINS: ""}


def load_index(directory: Path) -> dict[str, Any]:
    """``index.json`` of an artifact of ``tokenize``.

    Raises:
      UserError: The folder is not such an artifact, or from another version.
    """
    path = directory / INDEX
    if not path.is_file():
        raise UserError(f"{directory}: no {INDEX}; run tokenize first")
    index = json.loads(path.read_text(encoding="utf-8"))
    found = index.get("format"), index.get("version")
    if found != (FORMAT, VERSION):
        raise UserError(
            f"{path}: format {found[0]} version {found[1]}, expected {FORMAT} "
            f"version {VERSION}; run tokenize again"
        )
    return index


def load_split(directory: Path, task: str, split: str) -> dict[str, np.ndarray]:
    """All rows of one split, in the order of its files.

    Args:
      directory: An artifact of ``tokenize``.
      task: A direction such as ``en-de``.
      split: ``train`` or the name of a test set.

    Returns:
      ``source_ids``, ``source_segments``, ``source_positions``: int32 [rows,
      source_length]; the same for ``target``, [rows, target_length]; ``examples``:
      int32 [rows], pairs in the row. A test set has in addition
      ``sentence_ids``: int32 [rows, most pairs in a row], the number in the test
      set of each segment, -1 where there is none; and, where they are known,
      ``nats`` (float64, nan where there is no segment) and ``origins`` (str, empty
      where there is no segment) of the same shape.

    Raises:
      UserError: There is no such split, or a file of it is damaged.
    """
    index = load_index(directory)
    parts = list(load_parts(directory, task, split))
    columns = {
        name: np.concatenate([part[name] for part in parts])
        for name in (*row_columns(), EXAMPLES)
    }
    columns[EXAMPLES] = columns[EXAMPLES][:, 0]
    for name in (SENTENCE_IDS, NATS, ORIGINS):
        if name in parts[0]:
            rows = [row for part in parts for row in part[name]]
            columns[name] = _padded(rows, _PADDING[name])
    expected = index["tasks"][task]["splits"][split]["rows"]
    if len(columns[EXAMPLES]) != expected:
        raise UserError(
            f"{directory}: {len(columns[EXAMPLES])} rows of {task} {split} in the "
            f"files, {expected} in {INDEX}; run tokenize again"
        )
    return columns


def load_parts(directory: Path, task: str, split: str) -> Iterator[dict[str, Any]]:
    """The rows of a split one file at a time, for what does not fit in memory.

    Args:
      directory, task, split: As of `load_split`.

    Yields:
      The columns of `load_split` for the rows of one file; ``examples`` has the
      shape [rows, 1], and what differs in length from row to row is a list.

    Raises:
      UserError: As `load_split`.
    """
    index = load_index(directory)
    for name in _files(directory, index, task, split):
        if part := _load(directory / name):
            yield part


def _files(
    directory: Path, index: dict[str, Any], task: str, split: str
) -> Sequence[str]:
    tasks = index["tasks"]
    if task not in tasks:
        raise UserError(f"{directory}: no task {task}; it has {', '.join(tasks)}")
    found = tasks[task]["splits"]
    if split not in found:
        raise UserError(
            f"{directory}: no split {split} of {task}; it has {', '.join(found)}"
        )
    return found[split]["files"]


def _load(path: Path) -> dict[str, Any]:
    """The columns of one file: arrays where all rows have one length, else lists."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run tokenize again") from None
    messages = list(records.messages(content, str(path)))
    if not messages:
        return {}
    uniform = _uniform(messages)
    if uniform is not None:
        return uniform
    parsed = [records.parse(message) for message in messages]
    return {name: _column([row[name] for row in parsed]) for name in parsed[0]}


def _uniform(messages: Sequence[memoryview]) -> dict[str, np.ndarray] | None:
    """The columns of messages that differ in nothing but their integers, decoded
    all at once; None when they differ in more, as those of test sets do."""
    size = len(messages[0])
    if any(len(message) != size for message in messages):
        return None
    matrix = np.frombuffer(b"".join(messages), np.uint8).reshape(-1, size)
    start = np.frombuffer(messages[0], np.uint8).ctypes.data
    constant = np.ones(size, bool)
    columns = {}
    for name, (kind, content) in records.parse(messages[0]).items():
        if kind != records.INT64_LIST:
            return None
        values = np.frombuffer(content, np.uint8)
        at = values.ctypes.data - start
        constant[at : at + len(values)] = False
        part = np.ascontiguousarray(matrix[:, at : at + len(values)])
        if ((part < 0x80) != (part[0] < 0x80)).any():
            return None
        columns[name] = records.varints(part.ravel()).reshape(len(matrix), -1)
    if (matrix[:, constant] != matrix[0, constant]).any():
        return None
    return columns


def _column(cells: Sequence[tuple[int, memoryview]]) -> Any:
    """One feature of all rows: an int matrix, or a list of rows that differ."""
    kind = cells[0][0]
    if kind == records.BYTES_LIST:
        return [
            [value.decode() for value in records.byte_strings(content)]
            for _, content in cells
        ]
    if kind == records.FLOAT_LIST:
        return [np.frombuffer(content, "<f4") for _, content in cells]
    rows = [records.varints(np.frombuffer(content, "u1")) for _, content in cells]
    if len({len(row) for row in rows}) == 1:
        return np.stack(rows)
    return rows


def _padded(rows: Sequence[Sequence[Any]], padding: Any) -> np.ndarray:
    width = max(len(row) for row in rows)
    matrix = [[*row, *[padding] * (width - len(row))] for row in rows]
    kinds = {int: np.int32, float: np.float64, str: np.str_}
    return np.array(matrix, dtype=kinds[type(padding)])
