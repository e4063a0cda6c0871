"""Everything a run left behind, read once: what the figures and the page show."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts import manifest, metrics_table
from components.artifacts.manifest import Manifest
from components.artifacts.metrics_table import MetricsRow
from components.fit import Config as FitConfig
from components.fit import convergence, held_out, law_file
from components.fit import table as fit_table
from components.fit.held_out import Compared
from components.fit.runs import Runs, sort_rows
from components.report.config import Config
from models.errors import UserError
from models.laws import Law
from models.laws.backtest import Backtest

_NOTHING_FITTED = law_file.LawFile(())
VERBS = (
    "ingest",
    "select",
    "tokenize",
    "train",
    "evaluate",
    "fit",
    "recommend",
)
FILES = {
    "metrics": f"evaluate/{metrics_table.FILE_NAME}",
    "irreducible": "evaluate/irreducible.json",
    "laws": f"fit/{law_file.FILE_NAME}",
    "held_out": f"fit/{held_out.FILE_NAME}",
    "recommendation": "recommend/recommendation.json",
    "counts": "ingest/counts.json",
    "card": "ingest/card.json",
    "tokens": "tokenize/index.json",
}


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a trial ended.

    Attributes:
      trial: Its name.
      failed: Whether it has no final loss.
      reason: Why, empty for one that is done.
      epochs: Task -> how often its training data were seen; empty when unknown.
    """

    trial: str
    failed: bool
    reason: str = ""
    epochs: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A run.

    Attributes:
      title: What it is called.
      tasks: Trained tasks, in the order of the mixture.
      test_set: Whose losses are shown; None without a measurement.
      metric: ``loss``, or the rising metric that was fitted.
      rows: The metrics table.
      runs: Its rows as ``fit`` sorted them; None when nothing can be fitted.
      laws: Fitted laws of every test set.
      backtests: Test set -> how much the weightings share, where it was judged.
      fit_notes: What the fit left out or corrected, sentences.
      compared: Predictions for what was held out.
      recommendation: As ``recommend`` wrote it; None without one.
      irreducible: task -> test set -> true entropy record.
      counts, tokens: Of ``ingest`` and ``tokenize``, as written; may be empty.
      card: The data card of ``ingest``; may be empty.
      manifests: Verb -> manifest, of those that are there.
      endings: How every trial ended, in the order of the sweep.
      notes: What is missing and why, sentences.
    """

    title: str
    tasks: tuple[str, ...]
    test_set: str | None
    metric: str
    rows: tuple[MetricsRow, ...]
    runs: Runs | None
    laws: tuple[Law, ...]
    backtests: Mapping[str, Backtest]
    fit_notes: tuple[str, ...]
    compared: tuple[Compared, ...]
    recommendation: Mapping[str, Any] | None
    irreducible: Mapping[str, Any]
    counts: Mapping[str, Any]
    tokens: Mapping[str, Any]
    card: Mapping[str, Any]
    manifests: Mapping[str, Manifest]
    endings: tuple[Ending, ...]
    notes: tuple[str, ...]

    def law(self, kind: str, task: str) -> Law | None:
        """The law of this kind and task on the shown test set."""
        for law in self.laws:
            if (law.kind, law.task, law.test_set) == (kind, task, self.test_set):
                return law
        return None

    def individual(self, task: str) -> list[Law]:
        """The individual laws of a task on the shown test set, by p."""
        found = [
            law
            for law in self.laws
            if (law.kind, law.task, law.test_set) == ("individual", task, self.test_set)
        ]
        return sorted(found, key=lambda law: law.weightings[0].p)

    @property
    def failed(self) -> tuple[Ending, ...]:
        """The trials without a final loss."""
        return tuple(ending for ending in self.endings if ending.failed)


def read(workdir: Path, config: Config) -> RunRecord:
    """Reads the artifacts of a run.

    Raises:
      UserError: There is none, or one of them cannot be read.
    """
    present = {name: workdir / file for name, file in FILES.items()}
    present = {name: path for name, path in present.items() if path.is_file()}
    manifests = {
        verb: manifest.load(workdir / verb)
        for verb in VERBS
        if (workdir / verb / manifest.FILE_NAME).is_file()
    }
    if not present and not manifests:
        raise UserError(
            f"{workdir}: no artifact of a run; expected the folder that polyscale run "
            "fills (--workdir)"
        )
    fitted = law_file.load(present["laws"]) if "laws" in present else _NOTHING_FITTED
    laws = fitted.laws
    rows = metrics_table.load(present["metrics"]) if "metrics" in present else []
    proof = present.get("held_out")
    runs, notes = _sorted_rows(present.get("metrics"), manifests.get("fit"))
    if not laws:
        notes.append("There are no laws: the step fit has not run on this table yet.")
    return RunRecord(
        title=config.title or workdir.resolve().name,
        tasks=_tasks(rows, laws),
        test_set=_test_set(config, laws, runs),
        metric=laws[0].metric if laws else "loss",
        rows=tuple(rows),
        runs=runs,
        laws=laws,
        backtests=fitted.provenance.backtest,
        fit_notes=fitted.provenance.notes,
        compared=tuple(held_out.load(proof) if proof else ()),
        recommendation=_json(present.get("recommendation")) or None,
        irreducible=_json(present.get("irreducible")),
        counts=_json(present.get("counts")),
        tokens=_json(present.get("tokens")),
        card=_json(present.get("card")),
        manifests=manifests,
        endings=tuple(_endings(workdir / "train", manifests.get("train"), rows)),
        notes=tuple(notes),
    )


def inputs(workdir: Path) -> dict[str, Path]:
    """What the report is a function of: artifacts, and files outside one."""
    found = {
        verb: workdir / verb
        for verb in VERBS
        if (workdir / verb / manifest.FILE_NAME).is_file()
    }
    for name, file in FILES.items():
        verb = file.partition("/")[0]
        if verb not in found and (workdir / file).is_file():
            found[name] = workdir / file
    return found


def fit_config(made_by: Manifest) -> FitConfig:
    """The configuration that an artifact of ``fit`` was made with."""
    return _rebuilt(FitConfig(), made_by.config)


def _rebuilt(default: Any, values: Mapping[str, Any]) -> Any:
    """A configuration from the JSON values that `manifest.plain` made of it."""
    changed = {}
    for name, value in values.items():
        known = getattr(default, name)
        if dataclasses.is_dataclass(known):
            changed[name] = _rebuilt(known, value)
        else:
            changed[name] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(default, **changed)


def _sorted_rows(
    metrics: Path | None, made_by: Manifest | None
) -> tuple[Runs | None, list[str]]:
    if metrics is None:
        return None, ["There is no metrics table: no trial has been evaluated yet."]
    config = fit_config(made_by) if made_by else FitConfig()
    try:
        lines = fit_table.read(metrics, config.metric)
        corrected, _ = convergence.extrapolate(lines, config)
        return sort_rows([*lines, *corrected], config, metrics.name), []
    except UserError as error:
        return None, [str(error)]


def _tasks(rows: Sequence[MetricsRow], laws: Sequence[Law]) -> tuple[str, ...]:
    """The trained tasks, in the order in which mixtures name them."""
    for row in rows:
        if row.mixture:
            return tuple(part.partition("=")[0] for part in row.mixture.split(","))
    return tuple(dict.fromkeys(law.task for law in laws))


def _test_set(config: Config, laws: Sequence[Law], runs: Runs | None) -> str | None:
    names = [law.test_set for law in laws]
    names += runs.fitted.test_set.tolist() if runs else []
    names = list(dict.fromkeys(names))
    if config.test_set is not None and names and config.test_set not in names:
        raise UserError(
            f"report.test_set: {config.test_set} was not measured; expected one of "
            f"{', '.join(names)}"
        )
    if config.test_set in names or not names:
        return config.test_set
    return "in_domain" if "in_domain" in names else names[0]


def _endings(
    folder: Path, made_by: Manifest | None, rows: Sequence[MetricsRow]
) -> list[Ending]:
    """From the trials' own records, or from the table where there are none."""
    names = (made_by.config or {}).get("trials") if made_by else None
    if not names:
        names = [path.parent.name for path in sorted(folder.glob("*/record.json"))]
    names = list(dict.fromkeys([*names, *(row.trial for row in rows)]))
    finished = {
        row.trial
        for row in rows
        if row.loss_kind in ("final", "extrapolated") and row.loss is not None
    }
    return [_ending(folder / name / "record.json", name, finished) for name in names]


def _ending(path: Path, name: str, finished: set[str]) -> Ending:
    record = _json(path if path.is_file() else None)
    if record:
        return Ending(
            trial=name,
            failed=record.get("status") == "failed",
            reason=record.get("reason") or "",
            epochs=record.get("epochs") or {},
        )
    failed = name not in finished
    return Ending(name, failed, "no final loss in the metrics table" if failed else "")


def _json(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    return json.loads(path.read_text(encoding="utf-8"))
