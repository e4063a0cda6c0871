"""Commands that ask fitted laws: ``predict``, ``frontier`` and ``recommend``."""

from __future__ import annotations

import argparse
from pathlib import Path

from models.errors import FieldError, UserError
from pipeline.command_parser import (
    add_command,
    add_out,
    deliver,
    parse_weights,
    positive_count,
    positive_number,
)

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

# Field of the recommendation's configuration -> the option that sets it.
_RECOMMEND_OPTIONS = {
    "n": "--n",
    "objective": "--objective",
    "require": "--require",
    "max_repeats": "--max-repeats",
    "planned_examples": "--planned-examples",
}


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the commands to the parser."""
    _add_predict(commands)
    _add_frontier(commands)
    _add_recommend(commands)


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
    add_out(predict, "where to write the table's predictions")
    predict.add_argument("--json", action="store_true", help="for a program to read")
    predict.set_defaults(handler=_handle_predict)


def _add_frontier(commands: argparse._SubParsersAction) -> None:
    frontier = add_command(
        commands, "frontier", "the trade-off between the tasks", _FRONTIER
    )
    _add_laws(frontier)
    _add_size(frontier, required=True)
    frontier.add_argument(
        "--points", type=positive_count, default=101, metavar="K",
        help="mixtures along the frontier (default: 101)",
    )  # fmt: skip
    add_out(frontier, "the CSV to write (default: standard output)")
    frontier.set_defaults(handler=_handle_frontier)


def _add_recommend(commands: argparse._SubParsersAction) -> None:
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
        "--objective", metavar="WHAT", default="weighted",
        help="weighted: the preferred average; minimax: the worst task; regret: the "
        "largest excess over what a task could have alone (default: weighted)",
    )  # fmt: skip
    recommend.add_argument(
        "--require", metavar="TASK<=LOSS", action="append", default=[],
        help="a loss that must be reached, 'en-zh<=1.9'; may be repeated",
    )  # fmt: skip
    recommend.add_argument(
        "--examples", metavar="TASK=X,...", default="",
        help="training examples of each task: compares with proportional and "
        "temperature sampling too",
    )  # fmt: skip
    recommend.add_argument(
        "--max-repeats", metavar="X", type=positive_number, default=None,
        help="how often an example may be seen; needs --examples, --planned-examples",
    )  # fmt: skip
    recommend.add_argument(
        "--planned-examples", metavar="X", type=positive_number, default=None,
        help="examples of all tasks that the training will draw",
    )  # fmt: skip
    recommend.add_argument("--json", action="store_true", help="for a program to read")
    recommend.set_defaults(handler=_handle_recommend)


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


def _handle_predict(arguments: argparse.Namespace) -> None:
    from components.fit import prediction

    by_point = arguments.n is not None or arguments.p is not None
    if (arguments.table is not None) == by_point:
        raise UserError("predict: expected either --n and --p, or --table")
    if arguments.table is not None:
        table = prediction.predict_table(arguments.laws, arguments.table)
        deliver(table, arguments.out)
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
    deliver(f"{text}\n", arguments.out)


def _handle_frontier(arguments: argparse.Namespace) -> None:
    from components.recommend import decision
    from models.laws.frontier import frontier

    if arguments.points < 2:
        raise UserError(f"--points {arguments.points}: expected 2 or more")
    laws = decision.trade_off_laws(arguments.laws)
    found = frontier(laws, arguments.n, arguments.points)
    deliver(decision.frontier_csv([found]), arguments.out)


def _handle_recommend(arguments: argparse.Namespace) -> None:
    import json

    from components import recommend
    from components.recommend import decision
    from pipeline import loader

    values = {
        "n": arguments.n,
        "prefer": parse_weights("--prefer", arguments.prefer),
        "objective": arguments.objective,
        "require": arguments.require,
        "examples": parse_weights("--examples", arguments.examples),
        "max_repeats": arguments.max_repeats,
        "planned_examples": arguments.planned_examples,
    }
    try:
        config = loader.build(recommend.Config, values)
    except FieldError as error:
        raise UserError(f"{_RECOMMEND_OPTIONS[error.field]}: {error.problem}") from None
    laws = decision.trade_off_laws(arguments.laws)
    found = decision.ask(config, laws, arguments.n)
    if arguments.json:
        print(json.dumps(decision.to_record(found), indent=1, ensure_ascii=False))
    else:
        print(decision.recommendation_text(found))
