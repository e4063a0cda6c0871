"""``laws.json``: fitted laws on disk, and back without refitting."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.manifest import plain, write_atomically
from models.errors import UserError
from models.laws.backtest import Backtest, Candidate
from models.laws.capacity import capacity
from models.laws.choice import KINDS, LawSet
from models.laws.data_law import DataLaw, DataSpec
from models.laws.law import Law
from models.laws.observations import Weighting
from models.laws.uncertainty import Misfit

FILE_NAME = "laws.json"
FORMAT = "polyscale.laws"
VERSION = 1
_DIGITS = 7  # of a draw, which is noise beyond them


@dataclasses.dataclass(frozen=True)
class Provenance:
    """What laws were fitted on and with.

    Attributes:
      runs, held_out: Measured values that were fitted, and kept aside.
      notes: What the fit left out or corrected, sentences.
      capacity, uncertainty, seed: As in the fit's configuration.
      backtest: Test set -> the kinds of law side by side, where it was judged.
    """

    runs: int = 0
    held_out: int = 0
    notes: tuple[str, ...] = ()
    capacity: str = "auto"
    uncertainty: str = "t"
    seed: int = 0
    backtest: Mapping[str, Backtest] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class LawFile:
    """The content of a law file.

    Attributes:
      laws: The laws.
      provenance: What they were fitted on and with.
    """

    laws: tuple[Law, ...]
    provenance: Provenance = Provenance()

    @property
    def known(self) -> LawSet:
        """The laws, to be asked."""
        return LawSet(self.laws, self.provenance.backtest)


def save(path: Path, content: LawFile) -> None:
    """Writes a law file."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "laws": [_to_record(law) for law in content.laws],
        "provenance": plain(content.provenance),
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
        provenance = _provenance(record.get("provenance", {}))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file}: damaged law file ({type(error).__name__}: {error}); fit again"
        ) from error
    if not laws:
        raise UserError(f"{file}: a law file without laws; fit again")
    return LawFile(laws, provenance)


def _to_record(law: Law) -> dict[str, Any]:
    own = {}
    if isinstance(law, DataLaw):
        own = {
            "spec": dataclasses.asdict(law.spec),
            "run_sd": law.run_sd,
            "point_sd": law.point_sd,
        }
    return {
        "kind": law.kind,
        "task": law.task,
        "test_set": law.test_set,
        "metric": law.metric,
        "form": law.form,
        "parameters": dict(law.parameters),
        "standard_errors": {k: _finite(v) for k, v in law.standard_errors.items()},
        "covariance": _matrix(law.covariance),
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
        "shared_noise": {task: _matrix(m) for task, m in law.shared_noise.items()},
        "misfit": dataclasses.asdict(law.misfit),
        "warnings": list(law.warnings),
        **own,
    }


def _from_record(record: Mapping[str, Any]) -> Law:
    parameters = {name: float(value) for name, value in record["parameters"].items()}
    count, kind, form = len(parameters), record["kind"], record["form"]
    if kind not in KINDS:
        raise ValueError(f"no law of kind {kind}")
    own: dict[str, Any] = {}
    task, tasks = record["task"], tuple(record["tasks"])
    place = tasks.index(task) if task in tasks else -1
    if kind == "approximate":
        own["capacity"] = _capacity(form, tasks, place)
    elif kind == DataLaw.kind:
        spec = DataSpec(**record["spec"])
        own = {"spec": spec, "capacity": _capacity(spec.capacity, tasks, place)}
        own |= {name: float(record[name]) for name in ("run_sd", "point_sd")}
    elif form != KINDS[kind].form:
        raise ValueError(f"no {form} form of a law of kind {kind}")
    covariance = np.array(record["covariance"], dtype=float)
    draws = np.array(record["interval_draws"], dtype=float)
    if covariance.shape != (count, count):
        raise ValueError(f"covariance {covariance.shape} of {count} parameters")
    if draws.size and draws.shape[1:] != (count,):
        raise ValueError(f"draws {draws.shape} of {count} parameters")
    return KINDS[kind](
        task=task,
        test_set=record["test_set"],
        metric=record["metric"],
        parameters=parameters,
        covariance=covariance,
        residual_sd=_number(record["residual_sd"]),
        reference=record["reference"],
        tasks=tasks,
        weightings=tuple(_weighting(one) for one in record["weightings"]),
        statistics=record["statistics"],
        fitted_range={k: (v[0], v[1]) for k, v in record["fitted_range"].items()},
        warnings=tuple(record["warnings"]),
        draws=draws.reshape(-1, count),
        fixed=tuple(record["fixed"]),
        undetermined=tuple(record["undetermined"]),
        noise=record.get("noise", {}),
        shared_noise={
            other: np.array(cross, dtype=float)
            for other, cross in record.get("shared_noise", {}).items()
        },
        misfit=Misfit(**record.get("misfit", {})),
        **own,
    )


def _capacity(form: str, tasks: tuple[str, ...], own: int) -> Any:
    try:
        return capacity(form, tasks, own)
    except UserError as error:
        raise ValueError(f"no {form} form of a law of kind approximate") from error


def _weighting(record: Mapping[str, Any]) -> Weighting:
    group = record.get("group", record.get("condition", ""))  # its name before 0.2
    return Weighting(record["label"], record["p"], record["mixture"], group)


def _provenance(record: Mapping[str, Any]) -> Provenance:
    """What is known of it: a law file without provenance is readable too."""
    names = {field.name for field in dataclasses.fields(Provenance)}
    known = {name: value for name, value in record.items() if name in names}
    known["notes"] = tuple(record.get("notes", ()))
    known["backtest"] = {
        test_set: Backtest(
            scheme=one["scheme"],
            candidates=tuple(Candidate(**candidate) for candidate in one["candidates"]),
            chosen=one["chosen"],
            step=one.get("step", 1.0),
        )
        for test_set, one in record.get("backtest", {}).items()
        if "candidates" in one
    }
    return Provenance(**known)


def _matrix(values: np.ndarray) -> list[list[float | None]]:
    return [[_finite(value) for value in row] for row in values.tolist()]


def _finite(value: float) -> float | None:
    """JSON has no NaN and no infinity; both mean that there is no estimate."""
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
