"""Commands that take an experiment file: ``run``, one per verb, and ``plan``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from components.engines.cores import available_cores
from models.errors import UserError
from pipeline.command_parser import (
    add_command,
    parse_weights,
    positive_count,
    positive_number,
)

if TYPE_CHECKING:
    from pipeline.steps import Context
    from pipeline.useful_trials import Goal

# The commands of single steps, in order, with what a reader wants to know of each.
# `fit` and `recommend` are commands of their own (see `law_commands`): they work on
# any table and any law file.
_VERBS = {
    "ingest": "raw text -> clean, deduplicated, split text",
    "select": "clean text -> the part of it most worth training on",
    "tokenize": "text -> vocabulary and packed token shards",
    "train": "tokens -> one trained model a trial",
    "evaluate": "trained models -> the metrics table",
    "report": "everything -> one page with the figures",
}
_ALL_VERBS = (*list(_VERBS)[:5], "fit", "recommend", "report")

_TABLES = (".csv", ".parquet")

_RUN = """\
Every step that is not already done, in order: ingest, select (where the file asks for
it), tokenize, train, evaluate, fit, recommend, report. Stop it anywhere and run the
same command again: it goes on from there. The last lines compare predicted with
measured losses for the sizes and mixtures that the fit has never seen.
"""

_PLAN = """\
What a sweep is before it runs: the exact parameter counts of its sizes, its trials,
tokens and FLOPs, how long it may take, and which of the trials pin the law for how much
of the cost. Reads no data and loads no TensorFlow.

With the table of runs that have been trained, which one to train next:

  polyscale plan quickstart --table runs/quickstart/evaluate
  polyscale plan my_runs.csv --n 1e9       a table alone: its sizes x its mixtures
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
    plan.add_argument(
        "--table", metavar="TABLE", type=Path, default=None,
        help="runs of it that have been trained: CSV, Parquet or `evaluate`'s folder",
    )  # fmt: skip
    plan.add_argument(
        "--n", metavar="N", type=positive_number, default=None,
        help="size of the model to predict (default: the one the file asks about or "
        "holds out, or ten times the largest)",
    )  # fmt: skip
    plan.add_argument(
        "--p", metavar="TASK=X,...", default="",
        help="mixture to predict (default: those of the sweep)",
    )  # fmt: skip
    plan.add_argument(
        "--interval", metavar="X", type=positive_number, default=None,
        help="list the trials for an interval this many times that of the whole sweep "
        "(default: 1.3)",
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
    return available_cores() if given is None else given


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

    from components.fit.done_runs import read_done
    from pipeline import experiment, plan
    from pipeline.useful_trials import LISTED, Goal

    goal = Goal(
        n=arguments.n,
        mixture=parse_weights("--p", arguments.p),
        interval=arguments.interval or LISTED,
    )
    if Path(arguments.experiment).suffix in _TABLES:
        _plan_table(arguments, goal)
        return
    loaded = experiment.load(experiment.find(Path(arguments.experiment)), arguments.set)
    planned = plan.make(loaded, jobs=_jobs(arguments.jobs), gflops=arguments.gflops)
    done = None
    if arguments.table is not None:
        done = read_done(arguments.table, loaded.tasks, loaded.fit.held_out.sizes)
    useful = plan.most_useful(planned, goal, done)
    if arguments.json:
        print(json.dumps(plan.record(planned, useful), indent=1))
    else:
        sys.stdout.write(plan.text(planned, useful))


def _plan_table(arguments: argparse.Namespace, goal: Goal) -> None:
    """Which run to train beside those of a table."""
    import json

    from components.fit.done_runs import read_done
    from pipeline import useful_text, useful_trials

    for option in ("set", "gflops", "jobs", "table"):
        if getattr(arguments, option):
            raise UserError(
                f"plan {arguments.experiment}: --{option} goes with an experiment file"
            )
    done = read_done(Path(arguments.experiment))
    useful = useful_trials.find(useful_trials.sweep_around(done), goal, done)
    if useful is None:
        raise UserError(
            f"plan {arguments.experiment}: its sizes x mixtures are no more runs than "
            "the law has coefficients; add a size or a mixture"
        )
    if arguments.json:
        print(json.dumps(dataclasses.asdict(useful), indent=1))
    else:
        sys.stdout.write(useful_text.text(useful))
