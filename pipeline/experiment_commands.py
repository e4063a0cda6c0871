"""Commands that take an experiment file: ``run``, one per verb, and ``plan``."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from components.engines.cores import available_cores
from models.errors import FieldError, UserError
from pipeline import Verb
from pipeline.options import Call, option

if TYPE_CHECKING:
    from components.fit.done_runs import DoneRuns
    from pipeline.design import Goal
    from pipeline.experiment import Experiment
    from pipeline.steps import Context

_TABLES = (".csv", ".parquet")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OfExperiment:
    """What is done with an experiment file.

    Attributes:
      experiment: An experiment file, or the name of a shipped one (quickstart).
      set: Override a value of the file, for example --set train.steps=2000; the value
        is YAML; may be repeated.
      small: The experiment's twin that runs in minutes: small models, few steps and,
        where the tasks have one source language, synthetic text.
      jobs: Trials that may train at once; as many as this machine has cores when left
        out.
    """

    experiment: str = option("EXPERIMENT.yaml", positional=True)
    set: tuple[str, ...] = option("SECTION.KEY=VALUE", default=(), split=False)
    small: bool = False
    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise FieldError("jobs", f"{self.jobs}; expected 1 or more")

    def load(self) -> tuple[Path, Experiment]:
        """The experiment and its file."""
        from pipeline import experiment
        from pipeline.small import small

        path = experiment.find(Path(self.experiment))
        loaded = experiment.load(path, self.set)
        return path, small(loaded) if self.small else loaded

    @property
    def processes(self) -> int:
        """Trials that train at once."""
        return available_cores() if self.jobs is None else self.jobs


@dataclasses.dataclass(frozen=True, kw_only=True)
class _InFolder(_OfExperiment):
    """What makes artifacts of an experiment.

    Attributes:
      workdir: Where the artifacts live; runs/NAME, with the name of the experiment,
        when left out.
    """

    workdir: Path | None = option("DIR", default=None)

    def context(self, *verbs: str) -> Context:
        """The experiment in its folder, checked for what these steps need."""
        from components.artifacts.outputs import check_local
        from pipeline import cross_checks
        from pipeline.steps import Context

        if self.workdir is not None:
            check_local(self.workdir)
        path, loaded = self.load()
        root = path.resolve().parent
        if "ingest" in verbs:
            cross_checks.check_files(loaded, root)
        if "fit" in verbs:
            try:
                cross_checks.check_fit(loaded)
            except FieldError as error:
                raise UserError(f"{path}: {error}") from None
        return Context(
            experiment=loaded,
            root=root,
            workdir=self.workdir or Path("runs") / loaded.name,
            jobs=self.processes,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(_InFolder):
    """Every step that is not already done, in order: ingest, select (where the file
    asks for it), tokenize, train, evaluate, fit, recommend, report. Stop it anywhere
    and run the same command again: it goes on from there. The last lines compare
    predicted with measured losses for the sizes and mixtures that the fit has never
    seen.

    Attributes:
      until: Stop after this step: ingest, select, tokenize, train, evaluate, fit,
        recommend or report.
      force: Do this step again, and all that follows from it.
    """

    until: Verb = option("VERB", default="report")
    force: tuple[Verb, ...] = option("VERB", default=())

    def run(self, call: Call) -> None:
        """Makes what is missing."""
        from pipeline import closing_lines, local_runner

        verbs = get_args(Verb)
        context = self.context(*verbs[: verbs.index(self.until) + 1])
        local_runner.run(context, until=self.until, force=self.force)
        if self.until == "report":
            sys.stdout.write(closing_lines.compose(context.workdir))


@dataclasses.dataclass(frozen=True, kw_only=True)
class OneStep(_InFolder):
    """One step of a sweep, from the artifacts of those before it.

    Attributes:
      force: Although it is done.
    """

    force: bool = False

    def run(self, call: Call) -> None:
        """Makes the artifact, and prints where it is."""
        from pipeline import local_runner

        context = self.context(call.command)
        local_runner.run_one(context, call.command, force=self.force)
        print(context.place(call.command))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan(_OfExperiment):
    """What a sweep is before it runs: the exact parameter counts of its sizes, its
    trials, tokens and FLOPs, how long it may take, and which of the trials pin the law
    for how much of the cost. Reads no data and loads no TensorFlow.

    With the table of runs that have been trained, which one to train next:

      polyscale plan quickstart --table runs/quickstart/evaluate
      polyscale plan my_runs.csv --n 1e9       a table alone: its sizes x its mixtures

    Attributes:
      gflops: Sustained training speed of one job, in GFLOP/s, to estimate the time
        with; what small models reach on one core of a laptop when left out.
      table: Runs of it that have been trained: CSV, Parquet or `evaluate`'s folder.
      n: Size of the model to predict; the one the file asks about or holds out, or ten
        times the largest when left out.
      p: Mixture to predict; those of the sweep when left out.
      by: The group of runs, where the table has several: arch=B.
      interval: List the trials for an interval this many times that of the whole sweep.
      json: For a program to read.
    """

    gflops: float | None = None
    table: Path | None = option("TABLE", default=None)
    n: float | None = option("N", default=None)
    p: Mapping[str, float] = option("TASK=X,...", default_factory=dict)
    by: Mapping[str, str] = option("COLUMN=X,...", default_factory=dict)
    interval: float = 1.3
    json: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gflops", "n", "interval"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise FieldError(name, f"{value:g}; expected a positive number")

    def run(self, call: Call) -> None:
        """Prints the plan."""
        from components.fit.done_runs import read_done
        from pipeline import plan
        from pipeline.design import Goal

        goal = Goal(n=self.n, mixture=self.p, interval=self.interval)
        if Path(self.experiment).suffix in _TABLES:
            call.refuse(
                "--set", "--small", "--gflops", "--jobs", "--table",
                because=f"{self.experiment} is a table, not an experiment file",
            )  # fmt: skip
            runs = read_done(Path(self.experiment), by=self.by)
            _plan_table(Path(self.experiment), runs, goal, as_json=self.json)
            return
        _, loaded = self.load()
        planned = plan.make(loaded, jobs=self.processes, gflops=self.gflops)
        done: DoneRuns | None = None
        if self.table is not None:
            without = loaded.fit.held_out.sizes
            done = read_done(self.table, loaded.tasks, without, self.by)
        found = plan.design_of(planned, goal, done)
        if self.json:
            print(json.dumps(plan.record(planned, found), indent=1))
        else:
            sys.stdout.write(plan.text(planned, found))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Status:
    """How far a run has come: its steps, its trials, whether a process is working on
    it, and the last lines of its log (run.log in its folder).

    Attributes:
      folder: Folder of the run.
      json: For a program to read.
    """

    folder: Path = option("RUN", positional=True)
    json: bool = False

    def run(self, call: Call) -> None:
        """Prints the status."""
        from pipeline import status

        found = status.status(self.folder)
        sys.stdout.write(status.to_json(found) if self.json else status.to_text(found))


def _plan_table(table: Path, done: DoneRuns, goal: Goal, *, as_json: bool) -> None:
    """Which run to train beside those of a table."""
    from pipeline import design, design_text

    found = design.find(design.sweep_around(done), goal, done)
    if found is None:
        raise UserError(
            f"plan {table}: its sizes x mixtures are no more runs than the law has "
            "coefficients; add a size or a mixture"
        )
    if as_json:
        print(json.dumps(dataclasses.asdict(found), indent=1))
    else:
        sys.stdout.write(design_text.text(found))
