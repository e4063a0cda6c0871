"""Everything a run left behind, read once: what the figures and the page show."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from components.artifacts import manifest, metrics_table, token_index
from components.artifacts.manifest import Manifest
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.token_index import TokenIndex
from components.fit import held_out, law_file, points
from components.fit.held_out import Compared
from components.fit.points import Point
from components.report.config import Config
from components.report.words import count_text
from models.errors import UserError
from models.laws import Law
from models.laws.backtest import Backtest
from models.laws.law import CEILINGS

VERBS = ("ingest", "select", "tokenize", "train", "evaluate", "fit", "recommend")
FILES = {
    "metrics": ("evaluate", metrics_table.FILE_NAME),
    "irreducible": ("evaluate", "irreducible.json"),
    "laws": ("fit", law_file.FILE_NAME),
    "points": ("fit", points.FILE_NAME),
    "held_out": ("fit", held_out.FILE_NAME),
    "recommendation": ("recommend", "recommendation.json"),
    "counts": ("ingest", "counts.json"),
    "card": ("ingest", "card.json"),
    "tokens": ("tokenize", token_index.FILE_NAME),
}
_MOST_TASKS = 6  # as many as there are colours that tell apart
_NOT_FITTED = law_file.LawFile(())
Kind = TypeVar("Kind", bound=Law)
METRIC_NAMES = {"bleu": "BLEU", "chrf": "chrF", "bleurt": "BLEURT", "comet": "COMET"}


@dataclasses.dataclass(frozen=True)
class TrialEnd:
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
class Quantity:
    """The words for what was measured.

    Attributes:
      one, many: One value of it, several.
      label: Of an axis, with its unit.
      unit: With a leading space; may be empty.
      modelled: What the laws are of, which falls.
      better: Where a frontier is better.
      ceiling: The value that a rising metric approaches; None for a loss.
    """

    one: str
    many: str
    label: str
    unit: str
    modelled: str
    better: str
    ceiling: float | None = None


_LOSS = Quantity(
    one="loss",
    many="losses",
    label="test loss (nats per target token)",
    unit=" nats per target token",
    modelled="loss",
    better="lower left",
)


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A run.

    Attributes:
      title: What it is called.
      tasks: Trained tasks, in the order of the mixture.
      test_set: Whose losses are shown; None without a measurement.
      metric: ``loss``, or the rising metric that was fitted.
      rows: The metrics table.
      points: Values of trained tasks on the test set, as ``fit`` used them.
      laws: Fitted laws of every test set.
      backtests: Test set -> how much the weightings share, where it was judged.
      fit_notes: What the fit left out or corrected, sentences.
      compared: Predictions for what was held out.
      recommendation: As ``recommend`` wrote it; None without one.
      irreducible: task -> test set -> true entropy record.
      counts, card: Counts and data card of ``ingest``, as written; may be empty.
      tokens: What ``tokenize`` made; None without it.
      manifests: Verb -> manifest, of those that are there.
      trials: How every trial ended, in the order of the sweep.
      notes: What is missing and why, sentences.
    """

    title: str
    tasks: tuple[str, ...]
    test_set: str | None
    metric: str
    rows: tuple[MetricsRow, ...]
    points: tuple[Point, ...]
    laws: tuple[Law, ...]
    backtests: Mapping[str, Backtest]
    fit_notes: tuple[str, ...]
    compared: tuple[Compared, ...]
    recommendation: Mapping[str, Any] | None
    irreducible: Mapping[str, Any]
    counts: Mapping[str, Any]
    tokens: TokenIndex | None
    card: Mapping[str, Any]
    manifests: Mapping[str, Manifest]
    trials: tuple[TrialEnd, ...]
    notes: tuple[str, ...]

    def laws_of(self, kind: type[Kind], task: str) -> list[Kind]:
        """The laws of this kind and task on the shown test set, by p."""
        found = [
            law
            for law in self.laws
            if isinstance(law, kind)
            and (law.task, law.test_set) == (task, self.test_set)
        ]
        return sorted(found, key=lambda law: law.weightings[0].p)

    def law(self, kind: type[Kind], task: str) -> Kind | None:
        """The first of them."""
        return next(iter(self.laws_of(kind, task)), None)

    def first_laws(self, kind: type[Kind]) -> list[Kind]:
        """The first of every task that has one."""
        found = [self.law(kind, task) for task in self.tasks]
        return [law for law in found if law is not None]

    def points_of(self, task: str) -> list[Point]:
        """The points of one task."""
        return [point for point in self.points if point.task == task]

    @property
    def shown_tasks(self) -> tuple[str, ...]:
        """The tasks that figures with a panel for each task show."""
        return self.tasks[:_MOST_TASKS]

    @property
    def failed(self) -> tuple[TrialEnd, ...]:
        """The trials without a final loss."""
        return tuple(end for end in self.trials if end.failed)

    @property
    def quantity(self) -> Quantity:
        """The words for the run's metric."""
        ceiling = CEILINGS.get(self.metric)
        if ceiling is None:
            return _LOSS
        name = METRIC_NAMES[self.metric]
        return Quantity(
            one=name,
            many=f"{name} values",
            label=name,
            unit="",
            modelled=f"distance to {ceiling:g}",
            better="upper right",
            ceiling=ceiling,
        )


def size_names(points: Sequence[Point]) -> dict[float, str]:
    """N -> name of the size, increasing; N in short where the name is only N."""
    names = sorted((point.n, point.size) for point in points)
    return {n: size_name(n, name) for n, name in names}


def size_name(n: float, name: str) -> str:
    """The size as the run calls it; N in short where its name is only N."""
    return count_text(n) if name.isdigit() else name


def read(workdir: Path, config: Config) -> RunRecord:
    """Reads the artifacts of a run.

    Raises:
      UserError: There is none, or one of them cannot be read.
    """
    present = _files(workdir)
    manifests = {
        verb: manifest.load(folder) for verb, folder in _steps(workdir).items()
    }
    if not present and not manifests:
        raise UserError(
            f"{workdir}: no artifact of a run; expected the folder that polyscale run "
            "fills (--workdir), or the one that polyscale fit made"
        )
    rows = metrics_table.load(present["metrics"]) if "metrics" in present else []
    every = points.load(present["points"]) if "points" in present else []
    fitted = law_file.load(present["laws"]) if "laws" in present else _NOT_FITTED
    laws = fitted.laws
    fitted_on = [one.test_set for one in (*laws, *every)]
    names = dict.fromkeys(fitted_on or [row.test_set for row in rows])
    test_set = _test_set(config, list(names))
    return RunRecord(
        title=config.title or workdir.resolve().name,
        tasks=_tasks(rows, every, laws),
        test_set=test_set,
        metric=laws[0].metric if laws else "loss",
        rows=tuple(rows),
        points=tuple(p for p in every if p.test_set == test_set and p.p > 0),
        laws=laws,
        backtests=fitted.provenance.backtest,
        fit_notes=fitted.provenance.notes,
        compared=tuple(
            held_out.load(present["held_out"]) if "held_out" in present else ()
        ),
        recommendation=_json(present.get("recommendation")) or None,
        irreducible=_json(present.get("irreducible")),
        counts=_json(present.get("counts")),
        tokens=TokenIndex.load(present["tokens"].parent)
        if "tokens" in present
        else None,
        card=_json(present.get("card")),
        manifests=manifests,
        trials=tuple(_trials(workdir / "train", manifests.get("train"), rows)),
        notes=_notes(rows, laws),
    )


def inputs(workdir: Path) -> dict[str, Path]:
    """What the report is a function of: artifacts, and files outside one."""
    steps = _steps(workdir)
    files = _files(workdir)
    loose = {name: path for name, path in files.items() if FILES[name][0] not in steps}
    return {**steps, **loose}


def _place(workdir: Path, verb: str) -> Path:
    """Where a step's artifact is; the folder itself where ``fit`` alone made it."""
    fitted_alone = verb == "fit" and (workdir / law_file.FILE_NAME).is_file()
    return workdir if fitted_alone else workdir / verb


def _steps(workdir: Path) -> dict[str, Path]:
    """Verb -> its artifact, of those that are there."""
    folders = {verb: _place(workdir, verb) for verb in VERBS}
    return {
        verb: folder
        for verb, folder in folders.items()
        if (folder / manifest.FILE_NAME).is_file()
    }


def _files(workdir: Path) -> dict[str, Path]:
    """Name -> file, of those that are there."""
    paths = {name: _place(workdir, v) / file for name, (v, file) in FILES.items()}
    return {name: path for name, path in paths.items() if path.is_file()}


def _notes(rows: Sequence[MetricsRow], laws: Sequence[Law]) -> tuple[str, ...]:
    if laws:
        return ()
    return (f"There are no laws yet: run the step {'fit' if rows else 'evaluate'}.",)


def _tasks(
    rows: Sequence[MetricsRow], points: Sequence[Point], laws: Sequence[Law]
) -> tuple[str, ...]:
    """The trained tasks, in the order in which mixtures name them."""
    for one in (*rows, *points):
        if one.mixture:
            return tuple(part.partition("=")[0] for part in one.mixture.split(","))
    return tuple(dict.fromkeys(law.task for law in laws))


def _test_set(config: Config, names: Sequence[str]) -> str | None:
    if config.test_set is not None and names and config.test_set not in names:
        raise UserError(
            f"report.test_set: {config.test_set} was not measured; expected one of "
            f"{', '.join(names)}"
        )
    if config.test_set in names or not names:
        return config.test_set
    return "in_domain" if "in_domain" in names else names[0]


def _trials(
    folder: Path, made_by: Manifest | None, rows: Sequence[MetricsRow]
) -> list[TrialEnd]:
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
    return [_trial(folder / name / "record.json", name, finished) for name in names]


def _trial(path: Path, name: str, finished: set[str]) -> TrialEnd:
    record = _json(path if path.is_file() else None)
    if record:
        return TrialEnd(
            trial=name,
            failed=record.get("status") == "failed",
            reason=record.get("reason") or "",
            epochs=record.get("epochs") or {},
        )
    failed = name not in finished
    return TrialEnd(
        name, failed, "no final loss in the metrics table" if failed else ""
    )


def _json(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    return json.loads(path.read_text(encoding="utf-8"))
