"""The steps of a sweep and what each reads: the pipeline's graph, written once.

Runners (this machine, a cluster) only decide where a step runs; which steps there
are, in which order and with which inputs is here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from components import evaluate, fit, ingest, recommend, report, select, tokenize, train
from components.artifacts.manifest import Manifest
from models.errors import UserError
from pipeline.experiment import Experiment


@dataclasses.dataclass(frozen=True)
class Context:
    """One experiment in one place.

    Attributes:
      experiment: What to do.
      root: Folder of the experiment file: text paths in it are relative to this.
      workdir: Where the artifacts live, ``workdir/<verb>``.
      jobs: Processes that may train at once.
    """

    experiment: Experiment
    root: Path
    workdir: Path
    jobs: int = 1

    def place(self, verb: str) -> Path:
        """The artifact of a step."""
        return self.workdir / verb


@dataclasses.dataclass(frozen=True)
class Step:
    """One verb.

    Attributes:
      verb: Its name: component, CLI command, section of the file, artifact.
      needs: The verbs whose artifacts it reads, directly.
      run: Does the work unless the artifact is current, and returns its manifest.
      wanted: Whether an experiment has this step.
    """

    verb: str
    needs: tuple[str, ...]
    run: Callable[[Context], Manifest]
    wanted: Callable[[Experiment], bool] = lambda experiment: True


def _ingest(context: Context) -> Manifest:
    return ingest.run(
        context.experiment.ingest,
        base=context.root,
        tasks=context.experiment.tasks,
        output=context.place("ingest"),
    )


def _select(context: Context) -> Manifest:
    return select.run(
        context.experiment.select or select.Config(),
        base=context.root,
        tokenize=context.experiment.tokenize,
        ingest=context.place("ingest"),
        tasks=context.experiment.tasks,
        output=context.place("select"),
    )


def _tokenize(context: Context) -> Manifest:
    selects = context.experiment.select is not None
    return tokenize.run(
        context.experiment.tokenize,
        base=context.root,
        ingest=context.place("select" if selects else "ingest"),
        tasks=context.experiment.tasks,
        output=context.place("tokenize"),
    )


def _train(context: Context) -> Manifest:
    return train.run(
        context.experiment.train,
        trials=context.experiment.trials,
        tokens=context.place("tokenize"),
        output=context.place("train"),
        jobs=context.jobs,
    )


def _evaluate(context: Context) -> Manifest:
    return evaluate.run(
        context.experiment.evaluate,
        train=context.place("train"),
        tokens=context.place("tokenize"),
        output=context.place("evaluate"),
        ingest=context.place("ingest"),
        base=context.root,
    )


def _fit(context: Context) -> Manifest:
    return fit.run(
        context.experiment.fit,
        table=context.place("evaluate"),
        output=context.place("fit"),
    )


def _recommend(context: Context) -> Manifest:
    return recommend.run(
        context.experiment.recommend,
        laws=context.place("fit"),
        output=context.place("recommend"),
    )


def _report(context: Context) -> Manifest:
    return report.run(
        context.experiment.report,
        workdir=context.workdir,
        output=context.place("report"),
    )


def _selects(experiment: Experiment) -> bool:
    return experiment.select is not None


def _has_trade_off(experiment: Experiment) -> bool:
    """One task, one mixture, or laws of no mixture: there is nothing to recommend."""
    several = len(experiment.tasks) > 1 and len(experiment.train.mixtures) > 1
    return several and "approximate" in experiment.fit.laws


STEPS = (
    Step("ingest", (), _ingest),
    Step("select", ("ingest",), _select, _selects),
    Step("tokenize", ("ingest", "select"), _tokenize),
    Step("train", ("tokenize",), _train),
    Step("evaluate", ("ingest", "tokenize", "train"), _evaluate),
    Step("fit", ("evaluate",), _fit),
    Step("recommend", ("fit",), _recommend, _has_trade_off),
    Step("report", ("train", "evaluate", "fit", "recommend"), _report),
)
_WHY_NOT = {
    "select": "add `select: {}` to the file, or --set 'select={}', for its defaults",
    "recommend": "it needs several tasks and mixtures, and `approximate` in fit.laws",
}
VERBS = tuple(step.verb for step in STEPS)


def of(experiment: Experiment) -> tuple[Step, ...]:
    """The steps of one experiment, without those that make no sense for it."""
    absent = {step.verb for step in STEPS if not step.wanted(experiment)}
    return tuple(
        dataclasses.replace(
            step, needs=tuple(verb for verb in step.needs if verb not in absent)
        )
        for step in STEPS
        if step.verb not in absent
    )


def get_step(experiment: Experiment, verb: str) -> Step:
    """The step of that name.

    Raises:
      UserError: The experiment leaves it out.
    """
    return up_to(experiment, verb)[-1]


def up_to(experiment: Experiment, verb: str) -> tuple[Step, ...]:
    """The steps of a run that ends with ``verb``.

    Raises:
      UserError: The experiment leaves that one out.
    """
    own = of(experiment)
    verbs = [step.verb for step in own]
    if verb not in verbs:
        raise UserError(f"{experiment.name}: has no step {verb}; {_WHY_NOT[verb]}")
    return own[: verbs.index(verb) + 1]


def dependents(verb: str) -> tuple[str, ...]:
    """``verb`` and every verb that reads it, directly or through others."""
    found = {verb}
    for step in STEPS:
        if found.intersection(step.needs):
            found.add(step.verb)
    return tuple(step.verb for step in STEPS if step.verb in found)
