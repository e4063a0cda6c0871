"""``laws.json``: fitted laws on disk, and back without refitting."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.manifest import write_atomically
from models.errors import UserError
from models.laws.law import Law
from models.laws.observations import Weighting
from models.laws.printing import EQUATIONS
from models.laws.solver import Array

FILE_NAME = "laws.json"
FORMAT = "polyscale.laws"
VERSION = 1
_DIGITS = 7  # of a draw, which is noise beyond them


@dataclasses.dataclass(frozen=True)
class LawFile:
    """The content of a law file.

    Attributes:
      laws: The laws.
      provenance: What they were fitted on and with.
    """

    laws: tuple[Law, ...]
    provenance: Mapping[str, Any]


def save(path: Path, laws: Sequence[Law], provenance: Mapping[str, Any]) -> None:
    """Writes a law file."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "laws": [_to_record(law) for law in laws],
        "provenance": dict(provenance),
    }
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def load(path: Path) -> LawFile:
    """Reads a law file, or that of the folder that ``fit`` made.

    Raises:
      UserError: Not a law file, or one of a newer version.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{file}: not a law file: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UserError(
            f"{file}: not a law file; expected the laws.json that polyscale fit writes"
        )
    version = record.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UserError(
            f"{file}: law file of version {version!r}, this polyscale reads up to "
            f"{VERSION}; fit again or use a newer polyscale"
        )
    try:
        laws = tuple(_from_record(law) for law in record["laws"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file}: damaged law file ({type(error).__name__}: {error}); fit again"
        ) from error
    if not laws:
        raise UserError(f"{file}: a law file without laws; fit again")
    return LawFile(laws, record.get("provenance", {}))


def _to_record(law: Law) -> dict[str, Any]:
    return {
        "kind": law.kind,
        "task": law.task,
        "test_set": law.test_set,
        "metric": law.metric,
        "form": law.form,
        "parameters": dict(law.parameters),
        "standard_errors": {k: _finite(v) for k, v in law.standard_errors.items()},
        "covariance": [[_finite(v) for v in row] for row in law.covariance.tolist()],
        "residual_sd": _finite(law.residual_sd),
        "interval_draws": [
            [float(f"{value:.{_DIGITS}g}") for value in row]
            for row in law.draws.tolist()
        ],
        "statistics": dict(law.statistics),
        "reference": dict(law.reference),
        "tasks": list(law.tasks),
        "weightings": [dataclasses.asdict(w) for w in law.weightings],
        "fitted_range": {k: list(v) for k, v in law.fitted_range.items()},
        "fixed": list(law.fixed),
        "undetermined": list(law.undetermined),
        "noise": dict(law.noise),
        "shared_noise": {
            task: [[_finite(v) for v in row] for row in cross.tolist()]
            for task, cross in law.shared_noise.items()
        },
        "warnings": list(law.warnings),
    }


def _from_record(record: Mapping[str, Any]) -> Law:
    parameters = {name: float(value) for name, value in record["parameters"].items()}
    draws = np.array(record["interval_draws"], dtype=float)
    covariance = np.array(record["covariance"], dtype=float)
    _check(record, covariance, draws)
    return Law(
        kind=record["kind"],
        task=record["task"],
        test_set=record["test_set"],
        metric=record["metric"],
        form=record["form"],
        parameters=parameters,
        covariance=covariance,
        residual_sd=_number(record["residual_sd"]),
        reference=record["reference"],
        tasks=tuple(record["tasks"]),
        weightings=tuple(Weighting(**w) for w in record["weightings"]),
        statistics=record["statistics"],
        fitted_range={k: (v[0], v[1]) for k, v in record["fitted_range"].items()},
        warnings=tuple(record["warnings"]),
        draws=draws.reshape(-1, len(parameters)),
        fixed=tuple(record["fixed"]),
        undetermined=tuple(record["undetermined"]),
        noise=record.get("noise", {}),
        shared_noise={
            task: np.array(cross, dtype=float)
            for task, cross in record.get("shared_noise", {}).items()
        },
    )


def _check(record: Mapping[str, Any], covariance: Array, draws: Array) -> None:
    """Raises ValueError unless the parts of a record fit together."""
    count = len(record["parameters"])
    if (record["kind"], record["form"]) not in EQUATIONS:
        raise ValueError(f"no {record['form']} form of a law of kind {record['kind']}")
    if covariance.shape != (count, count):
        raise ValueError(f"covariance {covariance.shape} of {count} parameters")
    if draws.size and draws.shape[1:] != (count,):
        raise ValueError(f"draws {draws.shape} of {count} parameters")


def _finite(value: float) -> float | None:
    """JSON has no NaN and no infinity; both mean that there is no estimate."""
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
