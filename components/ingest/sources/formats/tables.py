"""Files of records: TSV and CSV, JSON Lines, Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from components.ingest.batch import BATCH
from components.ingest.layout import MALFORMED, NOT_TEXT
from components.ingest.sources.formats import records
from components.ingest.sources.inputs import Pair, TextInput
from components.ingest.sources.text_files import numbered_lines, open_file
from models.errors import UserError

_LONGEST_FIELD = 1 << 26


def read_delimited(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a TSV or CSV file.

    A row with too few cells is ``malformed``, shown whole on the source side.

    Raises:
      UserError: There is no such column, or quotes that are opened and never closed.
    """
    columns, path = entry.corpus.columns, entry.paths[0]
    delimiter = columns.delimiter or ("," if entry.format == "csv" else "\t")
    quoting = entry.format == "csv" if columns.quoting is None else columns.quoting
    header = columns.header
    if header is None:
        header = not (
            isinstance(columns.source, int) and isinstance(columns.target, int)
        )
    fields, names = None, []
    for line, cells, fault in _rows(entry, delimiter, quoting):
        if fields is None:
            numbers = map(str, range(1, len(cells) + 1))
            names = [cell.strip() for cell in cells] if header else list(numbers)
            fields = records.find(entry, names, f"{path}: line {line}")
            if header:
                continue
        row = dict(zip(names, cells, strict=False))
        if fields.source in row and fields.target in row:
            pair = records.pair_of(row, line, fields)
            yield pair._replace(fault=fault) if fault else pair
        else:
            yield Pair(line, delimiter.join(cells), "", fault or MALFORMED)
    if fields is None:
        raise UserError(f"{path}: the file is empty; expected a table")


def _rows(
    entry: TextInput, delimiter: str, quoting: bool
) -> Iterator[tuple[int, list[str], str]]:
    """First line, cells and fault of every row that is not empty."""
    path, broken = entry.paths[0], set()

    def lines() -> Iterator[str]:
        encoding = entry.corpus.encoding_of("target")
        for number, text, is_text in numbered_lines(path, encoding):
            if not is_text:
                broken.add(number)
            yield text.removesuffix("\r").replace("\r", " ") + "\n"

    csv.field_size_limit(_LONGEST_FIELD)
    style = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    reader = csv.reader(lines(), delimiter=delimiter, quoting=style, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise UserError(
                f"{path}: line {line}: {error}; a quote that is opened and never "
                "closed? If quotes are part of the text, set columns.quoting: false"
            ) from error
        if cells is None:
            return
        if cells:
            spoilt = not broken.isdisjoint(range(line, reader.line_num + 1))
            yield line, cells, NOT_TEXT if spoilt else ""
        line = reader.line_num + 1


def read_json_lines(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a file of JSON objects; a line that is none is ``malformed``.

    Raises:
      UserError: The first object has no such field, or the file is one large list.
    """
    path, fields = entry.paths[0], None
    encoding = entry.corpus.encoding_of("target")
    for line, text, is_text in numbered_lines(path, encoding):
        if not text or text.isspace():
            continue
        record = _object(text) if is_text else None
        if record is None:
            if line == 1 and text.lstrip().startswith("["):
                raise UserError(
                    f"{path}: line 1: a list; expected JSON Lines, an object a line"
                )
            yield Pair(line, text, "", MALFORMED if is_text else NOT_TEXT)
            continue
        if fields is None:
            names = list(records.dotted(record))
            fields = records.find(entry, names, f"{path}: line {line}")
        yield records.pair_of(record, line, fields)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_parquet(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a Parquet file, or of the row groups that make up a part of it.

    Raises:
      UserError: It is no Parquet file, is damaged, or has no such column.
    """
    with open_file(entry.paths[0]) as raw:
        file = _parquet_file(entry, raw)
        names = [column.path.removesuffix(".list.element") for column in file.schema]
        fields = records.find(entry, names, entry.name)
        columns = sorted({name for name in (*fields[:4], *fields.references) if name})
        start, end = entry.part or (0, file.metadata.num_rows)
        row, groups = 0, []
        for group, size in enumerate(_group_sizes(file)):
            if start <= row < end:
                groups.append(group)
            row += size
        batches = file.iter_batches(BATCH, row_groups=groups, columns=columns)
        rows = (row for batch in _whole(entry, batches) for row in batch.to_pylist())
        yield from records.pairs(entry, names, rows, start)


def parquet_sizes(entry: TextInput) -> list[int]:
    """Rows of each row group.

    Raises:
      UserError: It is no Parquet file.
    """
    with open_file(entry.paths[0]) as raw:
        return _group_sizes(_parquet_file(entry, raw))


def _group_sizes(file: Any) -> list[int]:
    groups = range(file.metadata.num_row_groups)
    return [file.metadata.row_group(group).num_rows for group in groups]


def _parquet_file(entry: TextInput, raw: BinaryIO) -> Any:
    from pyarrow import parquet

    return next(_whole(entry, map(parquet.ParquetFile, [raw])))


def _whole(entry: TextInput, parts: Iterable[Any]) -> Iterator[Any]:
    """The parts, with pyarrow's errors in our words."""
    import pyarrow as pa

    try:
        yield from parts
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"{entry.paths[0]}: not a whole Parquet file: {reason}"
        ) from error
