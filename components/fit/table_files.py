"""Files that hold a table, as columns and rows of cells.

CSV with commas, semicolons or tabs, in UTF-8 or UTF-16; JSON Lines; Parquet; Excel;
``-`` is CSV or JSON Lines from standard input.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from models.errors import UserError

Record = Mapping[str, object]
STANDARD_INPUT = Path("-")
_DELIMITERS = ",;\t|"
_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def load(file: Path) -> tuple[Sequence[str], list[Record]]:
    """Reads a table of any supported form.

    Returns:
      The column names, and a mapping from name to cell for every row. Cells of text
      files are text; a decimal comma is turned into a point where commas do not
      separate the cells.

    Raises:
      UserError: The file cannot be read as a table.
    """
    try:
        if file.suffix == ".parquet":
            return _parquet(file)
        if file.suffix in (".xlsx", ".xlsm"):
            return _excel(file)
        text = _text(file)
        if text.lstrip().startswith("{"):
            return _json_lines(file, text)
        return _csv(file, text)
    except (OSError, UnicodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{file}: cannot be read as a table: {reason}") from error


def _text(file: Path) -> str:
    content = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding)
    return content.decode("utf-8")


def _csv(file: Path, text: str) -> tuple[Sequence[str], list[Record]]:
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns = [name.strip() for name in next(reader, [])]
    records: list[Record] = []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(columns):
            raise UserError(
                f"{file}: row {len(records) + 2} has {len(cells)} cells, the header "
                f"has {len(columns)}"
            )
        if delimiter != ",":
            cells = [_with_point(cell) for cell in cells]
        records.append(dict(zip(columns, cells, strict=True)))
    _check_columns(file, columns)
    return columns, records


def _with_point(cell: str) -> str:
    """``0,25`` -> ``0.25``; other text stays as it is."""
    whole, comma, decimals = cell.strip().partition(",")
    number = whole.lstrip("+-").isdigit() and decimals.rstrip("%").isdigit()
    return f"{whole}.{decimals}" if comma and number else cell


def _json_lines(file: Path, text: str) -> tuple[Sequence[str], list[Record]]:
    records: list[Record] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{file}: line {number}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise UserError(f"{file}: line {number}: expected an object, one row each")
        records.append(record)
    columns = list(dict.fromkeys(name for record in records for name in record))
    return columns, [{name: row.get(name) for name in columns} for row in records]


def _parquet(file: Path) -> tuple[Sequence[str], list[Record]]:
    parquet = _imported("pyarrow.parquet", "pyarrow", file)
    arrow = _imported("pyarrow", "pyarrow", file)
    try:
        content = parquet.read_table(file)
    except arrow.ArrowInvalid as error:
        raise UserError(f"{file}: not a Parquet file: {error}") from error
    return content.column_names, content.to_pylist()


def _excel(file: Path) -> tuple[Sequence[str], list[Record]]:
    openpyxl = _imported("openpyxl", "openpyxl", file)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    rows = book.worksheets[0].iter_rows(values_only=True)
    columns = [str(name).strip() for name in next(rows, ()) if name is not None]
    _check_columns(file, columns)
    filled = (row[: len(columns)] for row in rows)
    return columns, [
        dict(zip(columns, row, strict=True))
        for row in filled
        if any(cell is not None for cell in row)
    ]


def _imported(module: str, package: str, file: Path) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{file}: reading it needs the package {package}; `pip install {package}`, "
            "or save the table as CSV"
        ) from error


def _check_columns(file: Path, columns: Sequence[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise UserError(f"{file}: two columns are named {', '.join(twice)}")
