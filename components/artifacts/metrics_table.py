"""The metrics table: one row = one (trial, step, task, test set).

The contract that every step after training relies on: `MetricsRow` in memory, CSV on
disk. A table from elsewhere needs only ``task``, ``n``, ``p`` and the metric to be
fitted (see ``components.fit.table``); every other field has a default.
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
class MetricsRow:
    """One measurement. ``None`` is an empty cell.

    Attributes:
      trial, cohort, size, seed: The training run.
      task: Language-pair direction, ``en-de``.
      p: The task's sampling probability, in [0, 1].
      mixture: All sampling probabilities, ``en-de=0.3,en-zh=0.7``; see
        `components.artifacts.trial.parse_mixture`.
      test_set, origin: The test set, and the original language of its sentences:
        ``source``, ``target`` or ``mixed``.
      n, n_enc, n_dec, n_embedding: Parameters; ``n = n_enc + n_dec`` counts no
        embedding table.
      step: Training step of the measurement.
      examples_seen, tokens_seen: Training examples and target tokens of this task up
        to that step.
      loss: Nats per target token; ``None`` when the trial failed.
      loss_kind: ``final``, ``curve`` or ``extrapolated``.
      token_count, sentence_count: Target tokens and sentences that the loss averages.
      bleu, chrf, bleurt, comet: Translation quality, each with the signature of the
        tool that measured it.
    """

    trial: str = ""
    cohort: str = ""
    size: str = ""
    seed: int = 0
    task: str
    p: float
    mixture: str | None = None
    test_set: str = "in_domain"
    origin: str = "mixed"
    n: int
    n_enc: int | None = None
    n_dec: int | None = None
    n_embedding: int | None = None
    step: int | None = None
    examples_seen: int | None = None
    tokens_seen: int | None = None
    loss: float | None = None
    loss_kind: str = "final"
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


COLUMNS = tuple(field.name for field in dataclasses.fields(MetricsRow))
_TYPES = {field.name: str(field.type) for field in dataclasses.fields(MetricsRow)}
_READ = {"int": int, "float": float, "str": str}


def save(path: Path, rows: Iterable[MetricsRow]) -> None:
    """Writes a table as CSV, atomically; a duplicated key is an error."""
    rows = list(rows)
    _check_unique(rows, str(path))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
    write_atomically(path, buffer.getvalue())


def load(path: Path) -> list[MetricsRow]:
    """Reads a table that `save` wrote. Raises ``UserError`` for any other."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = set(COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise UserError(
                f"{path}: not a metrics table: no column {', '.join(sorted(missing))}"
            )
        rows = [
            MetricsRow(**{name: _value(name, record[name]) for name in COLUMNS})
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
    kind, _, optional = _TYPES[name].partition(" | ")
    return None if optional and not text else _READ[kind](text)


def _check_unique(rows: list[MetricsRow], where: str) -> None:
    seen: set[tuple] = set()
    for row in rows:
        if row.key in seen:
            raise UserError(f"{where}: two rows with the key {row.key}")
        seen.add(row.key)
