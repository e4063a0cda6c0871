"""Parquet: columns by dotted names, row groups as parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from components.ingest.batch import BATCH
from components.ingest.sources.compression import open_file
from components.ingest.sources.formats import fields
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from models.errors import UserError


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a Parquet file, or of the row groups that make up a part of it.

    Raises:
      UserError: It is no Parquet file, is damaged, or has no such column.
    """
    import pyarrow as pa

    path = entry.paths[0]
    with open_file(path) as raw:
        file = _open(path, raw)
        names = [column.path for column in file.schema]
        names = [name.removesuffix(".list.element") for name in names]
        wanted = fields.find(entry, names, path)
        groups, row = _groups(file, entry.part)
        asked = [*wanted[:3], *wanted.references, wanted.document]
        columns = sorted({name for name in asked if name})
        try:
            batches = file.iter_batches(BATCH, row_groups=groups, columns=columns)
            for batch in batches:
                for record in batch.to_pylist():
                    row += 1
                    yield fields.pair_of(record, row, wanted)
        except (pa.ArrowException, OSError) as error:
            raise UserError(
                f"{path}: cannot be read beyond row {row}: {_one_line(error)}; "
                "the file is damaged"
            ) from error


def sizes(entry: TextInput) -> list[int]:
    """Rows of each row group.

    Raises:
      UserError: It is no Parquet file.
    """
    path = entry.paths[0]
    with open_file(path) as raw:
        file = _open(path, raw).metadata
        return [file.row_group(i).num_rows for i in range(file.num_row_groups)]


def _open(path: str, raw: Any) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(raw)
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{path}: not a whole Parquet file: {_one_line(error)}"
        ) from error


def _groups(file: Any, part: tuple[int, int] | None) -> tuple[list[int], int]:
    """The row groups of a part, and the rows before it."""
    if part is None:
        return list(range(file.num_row_groups)), 0
    start, groups = 0, []
    for group in range(file.num_row_groups):
        if part[0] <= start < part[1]:
            groups.append(group)
        start += file.metadata.row_group(group).num_rows
    return groups, part[0]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
