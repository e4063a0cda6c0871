"""TSV and CSV: columns by name or number, quoted or not."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from components.ingest.layout import MALFORMED, NOT_TEXT
from components.ingest.sources.corpus import Columns
from components.ingest.sources.formats.fields import (
    Wanted,
    default_name,
    did_you_mean,
    listed,
)
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import sides
from components.ingest.sources.lines import text_batches
from models.errors import UserError

_LONGEST_FIELD = 1 << 26


class Row(NamedTuple):
    """The cells of one record, the line it begins on and whether it is text."""

    line: int
    cells: list[str]
    fault: str


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a table.

    A row with too few cells is ``malformed``, shown whole on the source side.

    Raises:
      UserError: There is no such column, or quotes that are opened and never closed.
    """
    columns, path = entry.corpus.columns, entry.paths[0]
    delimiter = columns.delimiter or ("," if entry.format == "csv" else "\t")
    quoting = columns.quoting
    if quoting is None:
        quoting = entry.format == "csv"
    rows = _quoted(entry, delimiter) if quoting else _plain(entry, delimiter)
    wanted = None
    for row in rows:
        if wanted is None:
            names = row.cells if _has_header(columns) else None
            wanted = _positions(entry, names, delimiter)
            if names is not None:
                continue
            _check_width(path, row, wanted, delimiter)
        yield _pair(row, wanted, delimiter)
    if wanted is None:
        raise UserError(f"{path}: the file is empty; expected a table")


def _check_width(path: str, row: Row, wanted: Wanted, delimiter: str) -> None:
    """Raises ``UserError`` where the first row has no such columns."""
    last, width = max(wanted.source, wanted.target) + 1, len(row.cells)
    if last > width and not row.fault:
        raise UserError(
            f"{path}: line {row.line} has {width} columns between {delimiter!r}, but "
            f"column {last} is asked for; look at columns, or set columns.header: true "
            "if this line is a title"
        )


def _pair(row: Row, wanted: Wanted, delimiter: str) -> Pair:
    cells, line, fault = row.cells, row.line, row.fault
    if len(cells) <= max(wanted.source, wanted.target):
        return Pair(line, delimiter.join(cells), "", fault or MALFORMED)
    source, target = cells[wanted.source], cells[wanted.target]
    if not wanted.more:
        return Pair(line, source, target, fault)
    width = len(cells)
    origin = cells[wanted.origin] if wanted.origin in range(width) else ""
    details = {}
    if wanted.references:
        further = [cells[i] for i in wanted.references if i < width and cells[i]]
        details["references"] = [target, *further]
    if wanted.document in range(width):
        details["document"] = cells[wanted.document]
    return Pair(line, source, target, fault, origin, details)


def _plain(entry: TextInput, delimiter: str) -> Iterator[Row]:
    for line, text, fault in _lines(entry):
        if text or fault:
            yield Row(line, text.split(delimiter), fault)


def _quoted(entry: TextInput, delimiter: str) -> Iterator[Row]:
    """Rows whose cells may hold delimiters and line feeds between double quotes."""
    seen: list[tuple[int, str]] = []  # lines that the row read now is made of

    def lines() -> Iterator[str]:
        for line, text, fault in _lines(entry):
            seen.append((line, fault))
            yield text.replace("\r", " ") + "\n"

    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        seen.clear()
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise UserError(
                f"{entry.paths[0]}: line {seen[0][0]}: {error}; a quote that is opened "
                "and never closed? If quotes are part of the text, set "
                "columns.quoting: false"
            ) from error
        if cells is None:
            return
        if cells:
            fault = next((fault for _, fault in seen if fault), "")
            yield Row(seen[0][0], cells, fault)


def _lines(entry: TextInput) -> Iterator[tuple[int, str, str]]:
    """Number, text and fault of every line."""
    line = 0
    language = sides(entry.task)[1]
    for texts, bad in text_batches(
        entry.paths[0], entry.corpus.encoding_of("target"), language
    ):
        faults = dict.fromkeys(bad, NOT_TEXT)
        for i, text in enumerate(texts):
            line += 1
            yield line, text.removesuffix("\r"), faults.get(i, "")


def _has_header(columns: Columns) -> bool:
    if columns.header is not None:
        return columns.header
    return not (isinstance(columns.source, int) and isinstance(columns.target, int))


def _positions(entry: TextInput, names: Sequence[str] | None, delimiter: str) -> Wanted:
    """Where the wanted columns are, counted from 0."""
    columns = entry.corpus.columns
    names = None if names is None else [name.strip() for name in names]

    def position(field: str, column: int | str | None) -> int:
        if isinstance(column, int):
            return column - 1
        if names is None:
            raise UserError(
                f"{entry.paths[0]}: columns.{field} is {column!r}, but without a "
                "header columns have no names; expected a number from 1"
            )
        if column in names:
            return names.index(column)
        raise UserError(
            f"{entry.paths[0]}: line 1: no column {column}; it has {listed(names)}"
            f"{did_you_mean(column, names)}; set columns.{field}, to a number if there "
            "is no header"
        )

    def side(field: str, column: int | str | None) -> int:
        if column is None:
            column = default_name(entry.task, field, names or ())
        return position(field, column)

    def optional(field: str, column: int | str | None) -> int:
        return -1 if column is None else position(field, column)

    return Wanted(
        side("source", columns.source),
        side("target", columns.target),
        optional("origin", columns.origin),
        tuple(position("references", column) for column in columns.references),
        optional("document", columns.document),
    )
