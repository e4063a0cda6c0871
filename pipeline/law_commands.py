"""Commands that need no experiment: laws of any table, and questions to any laws."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.errors import FieldError, UserError
from pipeline.command_parser import add_command, positive_count, positive_number

_FIT = """\
Scaling laws of any table of runs (CSV or Parquet). Only the columns task, n, p and
loss are required: n counts non-embedding parameters, p is the task's sampling
probability, loss is in nats per target token. Writes laws.json, coefficients.csv,
report.txt and held_out.csv; prints the report.
"""

_PREDICT = """\
What the laws say about a size and a mixture, or about every row of a table, with 95 %
intervals for a newly trained model. Points outside of what was fitted say so.

  polyscale predict laws --n 1e9 --p en-de=0.3,en-zh=0.7
  polyscale predict laws --table rows.csv --out predicted.csv
"""

_FRONTIER = """\
What every mixture costs each task at one size: the trade-off frontier, as CSV.
"""

_RECOMMEND = """\
Mixture weights for a preference over the tasks, with intervals, the losses they should
give, and what usual ways to choose weights would give instead.

  polyscale recommend laws --n 1e9 --prefer en-de=2,en-zh=1
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
    "seed": "--seed",
}


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the commands to the parser."""
    _add_fit(commands)
    _add_predict(commands)
    frontier = add_command(
        commands, "frontier", "the trade-off between the tasks", _FRONTIER
    )
    _add_laws(frontier)
    _add_size(frontier, required=True)
    frontier.add_argument(
        "--points", type=positive_count, default=101, metavar="K",
        help="mixtures along the frontier (default: 101)",
    )  # fmt: skip
    _add_out(frontier, "the CSV to write (default: standard output)")
    frontier.set_defaults(handler=_handle_frontier)
    recommend = add_command(
        commands, "recommend", "weights for a preference", _RECOMMEND
    )
    _add_laws(recommend)
    _add_size(recommend, required=True)
    recommend.add_argument(
        "--prefer", metavar="TASK=X,...", default="",
        help="how much each task matters, in any unit (default: all the same)",
    )  # fmt: skip
    recommend.add_argument(
        "--examples", metavar="TASK=X,...", default="",
        help="training examples of each task: compares with proportional and "
        "temperature sampling too",
    )  # fmt: skip
    recommend.add_argument("--json", action="store_true", help="for a program to read")
    recommend.set_defaults(handler=_handle_recommend)
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
        help="which laws (default: individual,joint,approximate)",
    )  # fmt: skip
    fit.add_argument(
        "--capacity", metavar="FORM", default="auto",
        help="how capacity follows the weight: flexible, linear or auto (default)",
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
    fit.set_defaults(handler=_handle_fit)


def _add_predict(commands: argparse._SubParsersAction) -> None:
    predict = add_command(
        commands, "predict", "predicted losses with intervals", _PREDICT
    )
    _add_laws(predict)
    _add_size(predict, required=False)
    predict.add_argument(
        "--p", metavar="TASK=X,...", default=None,
        help="the mixture, en-de=0.3,en-zh=0.7; with two tasks one is enough",
    )  # fmt: skip
    predict.add_argument(
        "--table", metavar="ROWS.csv", type=Path, default=None,
        help="rows with task, n and p or mixture, instead of --n and --p",
    )  # fmt: skip
    _add_out(predict, "where to write the table's predictions")
    predict.add_argument("--json", action="store_true", help="for a program to read")
    predict.set_defaults(handler=_handle_predict)


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
    _add_out(simulate, "the CSV to write (default: standard output)")
    simulate.set_defaults(handler=_handle_simulate)


def _add_laws(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "laws", metavar="LAWS.json", type=Path,
        help="the file that `fit` wrote, or its folder",
    )  # fmt: skip


def _add_size(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--n", metavar="N", type=positive_number, required=required, default=None,
        help="non-embedding parameters of the model, for example 1e9",
    )  # fmt: skip


def _add_out(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--out", metavar="FILE", type=Path, default=None, help=text)


def _handle_fit(arguments: argparse.Namespace) -> None:
    from components import fit
    from pipeline import loader

    values = {
        "laws": [kind.strip() for kind in arguments.law.split(",")],
        "capacity": arguments.capacity,
        "metric": arguments.metric,
        "draws": arguments.draws,
        "seed": arguments.seed,
    }
    try:
        config = loader.build(fit.Config, values)
    except FieldError as error:
        name = error.field.partition("[")[0]
        raise UserError(f"{_FIT_OPTIONS[name]}: {error.problem}") from None
    fit.run(config, table=arguments.table, output=arguments.out)
    sys.stdout.write((arguments.out / "report.txt").read_text(encoding="utf-8"))


def _handle_predict(arguments: argparse.Namespace) -> None:
    from components.fit import prediction

    by_point = arguments.n is not None or arguments.p is not None
    if (arguments.table is not None) == by_point:
        raise UserError("predict: expected either --n and --p, or --table")
    if arguments.table is not None:
        table = prediction.predict_table(arguments.laws, arguments.table)
        _deliver(table, arguments.out)
        return
    if arguments.n is None or arguments.p is None:
        missing = "--n" if arguments.n is None else "--p"
        raise UserError(f"predict: {missing} is missing")
    mixture = parse_weights("--p", arguments.p)
    found = prediction.predict(arguments.laws, arguments.n, mixture)
    if arguments.json:
        text = prediction.prediction_json(found)
    else:
        text = prediction.prediction_text(found)
    _deliver(f"{text}\n", arguments.out)


def _handle_frontier(arguments: argparse.Namespace) -> None:
    from components.recommend import decision
    from models.laws.frontier import frontier

    if arguments.points < 2:
        raise UserError(f"--points {arguments.points}: expected 2 or more")
    laws = decision.trade_off_laws(arguments.laws)
    found = frontier(laws, arguments.n, arguments.points)
    _deliver(decision.frontier_csv([found]), arguments.out)


def _handle_recommend(arguments: argparse.Namespace) -> None:
    import json

    from components.recommend import decision
    from models.laws.recommendation import recommend

    found = recommend(
        decision.trade_off_laws(arguments.laws),
        arguments.n,
        parse_weights("--prefer", arguments.prefer) or None,
        examples=parse_weights("--examples", arguments.examples) or None,
    )
    if arguments.json:
        print(json.dumps(decision.to_record(found), indent=1, ensure_ascii=False))
    else:
        print(decision.recommendation_text(found))


def _handle_simulate(arguments: argparse.Namespace) -> None:
    from components.fit.simulation import simulate_table

    table = simulate_table(arguments.tasks, arguments.noise, arguments.seed)
    _deliver(table, arguments.out)


def parse_weights(option: str, text: str) -> dict[str, float]:
    """``en-de=2,en-zh=1`` -> numbers by task; an empty text gives none.

    Raises:
      UserError: A part that is not ``task=number``, or a task named twice.
    """
    weights: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        task, _, number = (piece.strip() for piece in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not task or not 0 <= value < float("inf"):
            raise UserError(
                f"{option} {text}: cannot read {part.strip()!r}; expected task=number, "
                "for example en-de=2,en-zh=1"
            )
        if task in weights:
            raise UserError(f"{option} {text}: {task} is named twice")
        weights[task] = value
    return weights


def _deliver(text: str, out: Path | None) -> None:
    """Writes a result to a file, whole or not at all, or to standard output."""
    from components.manifest import write_atomically

    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror}") from None
