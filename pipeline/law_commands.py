"""Commands that make laws without an experiment: ``fit`` and ``simulate``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.errors import FieldError, UserError
from pipeline.command_parser import (
    add_command,
    add_out,
    deliver,
    parse_numbers,
    positive_count,
)

_FIT = """\
Scaling laws of any table of runs (CSV or Parquet). Only the columns task, n, p and
loss are required: n counts non-embedding parameters, p is the task's sampling
probability, loss is in nats per target token. Writes laws.json, coefficients.csv,
report.txt, held_out.csv and points.csv; prints the report.
"""

_SIMULATE = """\
A table of runs from known laws with the noise of real ones: to try the other commands
without training anything, to teach with, to see what a fit can recover.

  polyscale simulate --tasks 2 --out runs.csv && polyscale fit runs.csv --out laws
"""

# Field of the fit's configuration -> the option that sets it.
_FIT_OPTIONS = {
    "laws": "--law",
    "capacity": "--capacity",
    "metric": "--metric",
    "draws": "--draws",
    "by": "--by",
    "fixed": "--fix",
    "test_sets": "--test-set",
    "held_out": "--hold-out",
    "uncertainty": "--uncertainty",
    "seed": "--seed",
}


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the commands to the parser."""
    _add_fit(commands)
    _add_simulate(commands)


def _add_fit(commands: argparse._SubParsersAction) -> None:
    fit = add_command(commands, "fit", "scaling laws of any table of runs", _FIT)
    fit.add_argument(
        "table", metavar="TABLE", type=Path,
        help="CSV or Parquet file, or the folder that `evaluate` made",
    )  # fmt: skip
    fit.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="where the laws go"
    )
    fit.add_argument(
        "--law", metavar="KIND,...", default="individual,joint,approximate",
        help="which laws, of individual, joint, approximate and bivariate (default: "
        "the first three)",
    )  # fmt: skip
    fit.add_argument(
        "--capacity", metavar="FORM", default="auto",
        help="how capacity follows the weights: flexible, linear, transfer, "
        "transfer+repetition, or auto, what predicts unseen mixtures best (default)",
    )  # fmt: skip
    fit.add_argument(
        "--metric", metavar="COLUMN", default="loss",
        help="the column to fit (default: loss)",
    )  # fmt: skip
    fit.add_argument(
        "--draws", metavar="K", type=int, default=1000,
        help="draws of the coefficients kept for intervals (default: 1000)",
    )  # fmt: skip
    fit.add_argument(
        "--seed", metavar="K", type=int, default=0, help="of the draws (default: 0)"
    )
    fit.add_argument(
        "--by", metavar="COLUMN,...", default="",
        help="columns that set runs apart beside their mixture (size of the data, ..)",
    )  # fmt: skip
    fit.add_argument(
        "--fix", metavar="NAME=X,...", default="",
        help="coefficients that are given, not fitted: alpha=0.3, irreducible_loss=1.1",
    )  # fmt: skip
    fit.add_argument(
        "--test-set", metavar="NAME,...", default="", dest="test_sets",
        help="test sets to fit on (default: all of them)",
    )  # fmt: skip
    fit.add_argument(
        "--hold-out", metavar="SIZE,...", default="",
        help="sizes, by their name in the table, that the fit must not see: it says "
        "how well they are predicted",
    )  # fmt: skip
    fit.add_argument(
        "--uncertainty", metavar="WHAT", default="t",
        help="t: intervals from the residuals, calibrated for few sizes (default); "
        "perturbation: 1 %% noise on every point, as Fernandes et al. 2023",
    )  # fmt: skip
    fit.add_argument(
        "--single-size", action="store_true",
        help="accept too few sizes for an exponent: a law of the weights alone",
    )  # fmt: skip
    fit.set_defaults(handler=_handle_fit)


def _add_simulate(commands: argparse._SubParsersAction) -> None:
    simulate = add_command(commands, "simulate", "a table from known laws", _SIMULATE)
    simulate.add_argument(
        "--tasks", metavar="K", type=positive_count, default=2,
        help="tasks that the mixtures are over (default: 2)",
    )  # fmt: skip
    simulate.add_argument(
        "--noise", metavar="SD", type=float, default=0.003,
        help="standard deviation of a measured loss, in nats (default: 0.003)",
    )  # fmt: skip
    simulate.add_argument(
        "--seed", metavar="K", type=int, default=0, help="of the noise (default: 0)"
    )
    add_out(simulate, "the CSV to write (default: standard output)")
    simulate.set_defaults(handler=_handle_simulate)


def _handle_fit(arguments: argparse.Namespace) -> None:
    from components import fit
    from pipeline import loader

    values = {
        "laws": _words(arguments.law),
        "capacity": arguments.capacity,
        "metric": arguments.metric,
        "draws": arguments.draws,
        "by": _words(arguments.by),
        "fixed": parse_numbers("--fix", arguments.fix, "name=number, as alpha=0.3"),
        "test_sets": _words(arguments.test_sets),
        "held_out": {"sizes": _words(arguments.hold_out)},
        "uncertainty": arguments.uncertainty,
        "single_size": arguments.single_size,
        "seed": arguments.seed,
    }
    try:
        config = loader.build(fit.Config, values)
    except FieldError as error:
        name = error.field.partition("[")[0].partition(".")[0]
        raise UserError(f"{_FIT_OPTIONS[name]}: {error.problem}") from None
    try:
        fit.run(config, table=arguments.table, output=arguments.out)
    except OSError as error:
        raise UserError(
            f"--out {arguments.out}: cannot be written: {error.strerror}"
        ) from None
    sys.stdout.write((arguments.out / "report.txt").read_text(encoding="utf-8"))


def _handle_simulate(arguments: argparse.Namespace) -> None:
    from components.fit.simulation import simulate_table

    table = simulate_table(arguments.tasks, arguments.noise, arguments.seed)
    deliver(table, arguments.out)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
