"""Commands that take an experiment file: ``run``, one per verb, and ``plan``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.command_parser import add_command, positive_count, positive_number

if TYPE_CHECKING:
    from pipeline.steps import Context

# The commands of single steps, in order, with what a reader wants to know of each.
# `fit` and `recommend` are commands of their own (see `law_commands`): they work on
# any table and any law file.
_VERBS = {
    "ingest": "raw text -> clean, deduplicated, split text",
    "tokenize": "text -> vocabulary and packed token shards",
    "train": "tokens -> one trained model a trial",
    "evaluate": "trained models -> the metrics table",
    "report": "everything -> one page with the figures",
}
_ALL_VERBS = (*list(_VERBS)[:4], "fit", "recommend", "report")

_RUN = """\
Every step that is not already done, in order: ingest, tokenize, train, evaluate, fit,
recommend, report. Stop it anywhere and run the same command again: it goes on from
there. The last lines compare predicted with measured losses for the sizes and
mixtures that the fit has never seen.
"""

_PLAN = """\
What a sweep is before it runs: the exact parameter counts of its sizes, its trials,
tokens and FLOPs, and how long it may take. Reads no data and loads no TensorFlow.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the commands to the parser."""
    run = _add(commands, "run", "every step that is not already done", _RUN)
    run.add_argument(
        "--until", metavar="VERB", choices=_ALL_VERBS, default="report",
        help=f"stop after this step: {', '.join(_ALL_VERBS)} (default: report)",
    )  # fmt: skip
    run.add_argument(
        "--force", metavar="VERB", choices=_ALL_VERBS, action="append", default=[],
        help="do this step again, and all that follows from it",
    )  # fmt: skip
    _add_workdir(run)
    run.set_defaults(handler=_handle_run)
    for verb, text in _VERBS.items():
        step = _add(commands, verb, text, f"One step of a sweep: {text}.\n")
        step.add_argument("--force", action="store_true", help="although it is done")
        _add_workdir(step)
        step.set_defaults(handler=_handle_step)
    plan = _add(commands, "plan", "sizes, trials, FLOPs and time of a sweep", _PLAN)
    plan.add_argument(
        "--gflops", type=positive_number, default=None, metavar="X",
        help="sustained training speed of one job, in GFLOP/s, to estimate the time "
        "with (default: what small models reach on one core of a laptop)",
    )  # fmt: skip
    plan.add_argument(
        "--jobs", type=positive_count, default=None, metavar="N",
        help="trials that run at the same time (default: the cores of this machine)",
    )  # fmt: skip
    plan.add_argument("--json", action="store_true", help="for a program to read")
    plan.set_defaults(handler=_handle_plan)


def _add(
    commands: argparse._SubParsersAction, name: str, summary: str, text: str
) -> argparse.ArgumentParser:
    parser = add_command(commands, name, summary, text)
    parser.add_argument(
        "experiment", metavar="EXPERIMENT.yaml",
        help="an experiment file, or the name of a shipped one (quickstart)",
    )  # fmt: skip
    parser.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=[], dest="set",
        help="override a value of the file, for example --set train.steps=2000; "
        "the value is YAML; may be repeated",
    )  # fmt: skip
    return parser


def _add_workdir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workdir", metavar="DIR", type=Path, default=None,
        help="where the artifacts live (default: runs/<name of the experiment>)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=positive_count, default=None, metavar="N",
        help="processes that may train at once (default: the cores of this machine)",
    )  # fmt: skip


def _context(arguments: argparse.Namespace) -> Context:
    from pipeline import experiment
    from pipeline.cross_checks import check_files
    from pipeline.steps import Context

    path = experiment.find(Path(arguments.experiment))
    loaded = experiment.load(path, arguments.set)
    root = path.resolve().parent
    check_files(loaded, root)
    return Context(
        experiment=loaded,
        root=root,
        workdir=arguments.workdir or Path("runs") / loaded.name,
        jobs=_jobs(arguments.jobs),
    )


def _jobs(given: int | None) -> int:
    """As many jobs as asked for, or as there are cores that we may use."""
    if given is not None:
        return given
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _handle_run(arguments: argparse.Namespace) -> None:
    from pipeline import closing_lines, local_runner

    context = _context(arguments)
    local_runner.run(context, until=arguments.until, force=arguments.force)
    if arguments.until == "report":
        sys.stdout.write(closing_lines.compose(context.workdir))


def _handle_step(arguments: argparse.Namespace) -> None:
    from pipeline import local_runner

    context = _context(arguments)
    local_runner.run_one(context, arguments.command, force=arguments.force)
    print(context.place(arguments.command))


def _handle_plan(arguments: argparse.Namespace) -> None:
    import json

    from pipeline import experiment, plan

    loaded = experiment.load(experiment.find(Path(arguments.experiment)), arguments.set)
    planned = plan.make(loaded, jobs=_jobs(arguments.jobs), gflops=arguments.gflops)
    if arguments.json:
        print(json.dumps(plan.record(planned), indent=1))
    else:
        sys.stdout.write(plan.text(planned))
