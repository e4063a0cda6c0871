"""Commands that ask fitted laws: ``predict``, ``frontier`` and ``recommend``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

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
  polyscale predict laws --n-enc 2e8 --n-dec 1e8         bivariate laws: a shape
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
    for side in ("enc", "dec"):
        predict.add_argument(
            f"--n-{side}", metavar="N", type=positive_number, default=None,
            help=f"parameters of the {side}oder, for bivariate laws",
        )  # fmt: skip
    _add_by(predict)
    _add_level(predict)
    add_out(predict, "where to write the predictions (default: standard output)")
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
    _add_level(frontier)
    _add_test_set(frontier)
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
    _add_level(recommend)
    _add_test_set(recommend)
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


def _add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", metavar="COLUMN=X,...", default="",
        help="the group of runs, where the fit kept several apart: arch=B",
    )  # fmt: skip


def _group(arguments: argparse.Namespace) -> dict[str, str]:
    """The columns and values of ``--by``; raises UserError for a part that is none."""
    found = {}
    for part in filter(None, arguments.by.split(",")):
        column, relation, value = part.partition("=")
        if not relation:
            raise UserError(f"--by {part}: expected column=value, as arch=B")
        found[column.strip()] = value.strip()
    return found


def _add_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level", metavar="X", type=_level, default=0.95,
        help="nominal coverage of the intervals (default: 0.95)",
    )  # fmt: skip


def _level(text: str) -> float:
    """Type of an option that is a probability, such as ``0.95``."""
    value = positive_number(text)
    if not value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return value


def _add_test_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--test-set", metavar="NAME", default=None,
        help="whose laws decide (default: in_domain, or else the first)",
    )  # fmt: skip


def _handle_predict(arguments: argparse.Namespace) -> None:
    from components.fit import prediction

    has_shape = arguments.n_enc is not None or arguments.n_dec is not None
    by_point = arguments.n is not None or (arguments.p is not None and not has_shape)
    if (arguments.table is not None) + by_point + has_shape != 1:
        raise UserError(
            "predict: expected either --n and --p, or --n-enc and --n-dec, or --table"
        )
    level, by = arguments.level, _group(arguments)
    if arguments.table is not None:
        table = prediction.predict_table(arguments.laws, arguments.table, level, by)
        deliver(table, arguments.out)
        return
    mixture = parse_weights("--p", arguments.p or "")
    if has_shape:
        n, sides = None, (_given(arguments, "n_enc"), _given(arguments, "n_dec"))
    else:
        n, sides = _given(arguments, "n"), None
        _given(arguments, "p")
    found = prediction.predict(arguments.laws, n, mixture, level, sides=sides, by=by)
    if arguments.json:
        text = prediction.prediction_json(found)
    else:
        text = prediction.prediction_text(found)
    deliver(f"{text}\n", arguments.out)


def _given(arguments: argparse.Namespace, name: str) -> Any:
    """An option's value; raises UserError where it is missing."""
    value = getattr(arguments, name)
    if value is None:
        raise UserError(f"predict: --{name.replace('_', '-')} is missing")
    return value


def _handle_frontier(arguments: argparse.Namespace) -> None:
    from components.recommend import decision
    from models.laws.frontier import frontier

    if arguments.points < 2:
        raise UserError(f"--points {arguments.points}: expected 2 or more")
    laws = decision.trade_off_laws(arguments.laws, arguments.test_set)
    found = frontier(laws, arguments.n, arguments.points, arguments.level)
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
        "test_set": arguments.test_set,
        "level": arguments.level,
    }
    try:
        config = loader.build(recommend.Config, values)
    except FieldError as error:
        raise UserError(f"{_RECOMMEND_OPTIONS[error.field]}: {error.problem}") from None
    laws = decision.trade_off_laws(arguments.laws, arguments.test_set)
    found = decision.ask(config, laws, arguments.n)
    if arguments.json:
        print(json.dumps(decision.to_record(found), indent=1, ensure_ascii=False))
    else:
        print(decision.recommendation_text(found))
