"""The names of columns: ours, under whatever name a table has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from components.artifacts import metrics_table
from components.fit.table_files import Record
from models.errors import UserError

# What other tables call our columns; only `step` is taken without being asked for.
_OTHER_NAMES = {
    "task": ("language", "lang", "pair", "language_pair", "direction", "domain"),
    "n": ("params", "parameters", "n_params", "num_params", "model_size", "nonembed"),
    "p": ("weight", "share", "prob", "probability", "proportion", "ratio"),
    "loss": ("val_loss", "valid_loss", "eval_loss", "test_loss", "nll", "ce", "xent"),
    "step": ("steps", "global_step", "iteration", "iterations", "iter", "updates"),
}


def renamed(
    file: Path,
    names: Sequence[str],
    records: Sequence[Record],
    columns: Mapping[str, str],
) -> tuple[list[str], list[Record]]:
    """The table under our column names, whatever their case.

    Args:
      file: For messages.
      names, records: Columns and rows of the table.
      columns: Our name of a column -> the name that the table has for it.

    Raises:
      UserError: The table has no such column.
    """
    new = {}
    for ours, theirs in columns.items():
        if theirs not in names:
            raise UserError(
                f"{file}: --columns {ours}={theirs}: no column {theirs}; the table has "
                f"{', '.join(names)}"
            )
        new[theirs] = ours
    known = {name.lower(): name for name in metrics_table.COLUMNS}
    for name in names:
        ours = known.get(name.lower())
        if ours and name not in new and ours not in (*names, *new.values()):
            new[name] = ours
    for name in _OTHER_NAMES["step"]:
        if name in names and "step" not in (*names, *new.values()):
            new[name] = "step"
    renamed = [{new.get(key, key): cell for key, cell in r.items()} for r in records]
    return [new.get(name, name) for name in names], renamed


def check_names(file: Path, names: Sequence[str], required: Sequence[str]) -> None:
    """Raises ``UserError`` for required columns that are missing, with a way out."""
    missing = [name for name in required if name not in names]
    if not missing:
        return
    lower = {name.lower(): name for name in names}
    guesses = {
        name: next((lower[o] for o in _OTHER_NAMES.get(name, ()) if o in lower), "")
        for name in missing
    }
    named = ",".join(f"{name}={guess or 'COLUMN'}" for name, guess in guesses.items())
    raise UserError(
        f"{file}: no column {', '.join(missing)}; the table has "
        f"{', '.join(names) or 'nothing'}; try --columns {named}"
    )
