"""The metrics table: one row = one (trial, step, task, test set).

The contract every step after training relies on. Rows are dataclasses in memory
and CSV on disk; a table that a person brings needs only ``task, n, p, loss``
(see ``models.laws.observations``).
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.artifacts.manifest import write_atomically
from models.errors import UserError

FILE_NAME = "metrics.csv"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement. ``None`` is written as an empty cell.

    Attributes:
      trial, cohort, size, seed: Which run.
      task: Language-pair direction, ``en-de``.
      p: This task's sampling probability, in [0, 1].
      mixture: The whole mixture, ``en-de=0.3,en-zh=0.7``.
      test_set, origin: What it was measured on; ``source``, ``target`` or
        ``mixed`` original language.
      n, n_enc, n_dec, n_embedding: Parameters; ``n = n_enc + n_dec`` counts no
        embedding table.
      step: Training step of the measurement.
      examples_seen, tokens_seen: Of this task up to that step; target tokens.
      loss: Nats per target token; ``None`` when the trial failed.
      loss_kind: ``final``, ``curve`` or ``extrapolated``.
      token_count, sentence_count: What the loss averages over.
    """

    trial: str
    cohort: str
    size: str
    seed: int
    task: str
    p: float
    mixture: str
    test_set: str
    origin: str = "mixed"
    n: int
    n_enc: int
    n_dec: int
    n_embedding: int
    step: int
    examples_seen: int | None = None
    tokens_seen: int | None = None
    loss: float | None
    loss_kind: str
    token_count: int | None = None
    sentence_count: int | None = None
    bleu: float | None = None
    bleu_signature: str | None = None
    chrf: float | None = None
    chrf_signature: str | None = None
    bleurt: float | None = None
    bleurt_signature: str | None = None
    comet: float | None = None
    comet_signature: str | None = None

    @property
    def key(self) -> tuple:
        """What makes a row unique in a table."""
        return (
            self.trial,
            self.step,
            self.task,
            self.test_set,
            self.origin,
            self.loss_kind,
        )


COLUMNS = tuple(field.name for field in dataclasses.fields(Row))
_KINDS = {
    field.name: str(field.type).replace(" | None", "")
    for field in dataclasses.fields(Row)
}


def write(path: Path, rows: Iterable[Row]) -> None:
    """Writes a table as CSV, atomically; a duplicated key is an error."""
    rows = list(rows)
    _check_unique(rows, str(path))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
    write_atomically(path, buffer.getvalue())


def read(path: Path) -> list[Row]:
    """Reads a table that `write` wrote. Raises ``UserError`` for any other."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = set(COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise UserError(
                f"{path}: not a metrics table: no column {', '.join(sorted(missing))}"
            )
        rows = [
            Row(**{name: _value(name, record[name]) for name in COLUMNS})
            for record in reader
        ]
    _check_unique(rows, str(path))
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    # NumPy's floats are floats too, but their repr is no number.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if text == "":
        return None
    return {"int": int, "float": float, "str": str}[_KINDS[name]](text)


def _check_unique(rows: list[Row], where: str) -> None:
    seen: set[tuple] = set()
    for row in rows:
        if row.key in seen:
            raise UserError(f"{where}: two rows with the key {row.key}")
        seen.add(row.key)
