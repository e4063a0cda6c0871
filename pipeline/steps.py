"""The steps of a sweep and what each reads: the pipeline's graph, written once.

Runners (this machine, a cluster) only decide where a step runs; which steps there
are, in which order and with which inputs is here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from components import evaluate, fit, ingest, recommend, report, tokenize, train
from components.manifest import Manifest
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
    """

    verb: str
    needs: tuple[str, ...]
    run: Callable[[Context], Manifest]


def _ingest(context: Context) -> Manifest:
    return ingest.run(
        context.experiment.ingest,
        base=context.root,
        tasks=context.experiment.tasks,
        output=context.place("ingest"),
    )


def _tokenize(context: Context) -> Manifest:
    return tokenize.run(
        context.experiment.tokenize,
        base=context.root,
        ingest=context.place("ingest"),
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


STEPS = (
    Step("ingest", (), _ingest),
    Step("tokenize", ("ingest",), _tokenize),
    Step("train", ("tokenize",), _train),
    Step("evaluate", ("ingest", "tokenize", "train"), _evaluate),
    Step("fit", ("evaluate",), _fit),
    Step("recommend", ("fit",), _recommend),
    Step("report", ("train", "evaluate", "fit", "recommend"), _report),
)
VERBS = tuple(step.verb for step in STEPS)


def get_step(verb: str) -> Step:
    """The step of that name."""
    return STEPS[VERBS.index(verb)]


def up_to(verb: str) -> tuple[Step, ...]:
    """The steps of a run that ends with ``verb``."""
    return STEPS[: VERBS.index(verb) + 1]


def dependents(verb: str) -> tuple[str, ...]:
    """``verb`` and every verb that reads it, directly or through others."""
    found = {verb}
    for step in STEPS:
        if found.intersection(step.needs):
            found.add(step.verb)
    return tuple(step.verb for step in STEPS if step.verb in found)
