"""The command that compares trials: ``compare``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.errors import UserError
from pipeline.command_parser import add_command, positive_count

_COMPARE = """\
Are trials different, or is it the choice of test sentences? Losses with 95 % intervals
and p-values from a paired bootstrap over the sentences; where the test sets were
translated (evaluate.quality), BLEU and chrF with sacrebleu's paired bootstrap test.

  polyscale compare runs/mine en-xx_9k_p0.30_s0 en-xx_9k_p0.50_s0
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    compare = add_command(
        commands, "compare", "differences between trials, with intervals", _COMPARE
    )
    compare.add_argument(
        "run", metavar="RUN", type=Path,
        help="folder of a run, or of what `evaluate` made",
    )  # fmt: skip
    compare.add_argument(
        "trials", metavar="TRIAL", nargs="+", help="two or more, the baseline first"
    )
    compare.add_argument("--task", metavar="TASK", default=None, help="only this one")
    compare.add_argument(
        "--test-set", metavar="NAME", default=None, help="only this one"
    )
    compare.add_argument(
        "--resamples", metavar="K", type=positive_count, default=1000,
        help="of the sentences (default: 1000)",
    )  # fmt: skip
    compare.add_argument(
        "--seed", metavar="K", type=int, default=0, help="of the resamples (default: 0)"
    )
    compare.add_argument("--json", action="store_true", help="for a program to read")
    compare.set_defaults(handler=_handle_compare)


def _handle_compare(arguments: argparse.Namespace) -> None:
    import dataclasses
    import json

    from components.evaluate.comparison import compare, table
    from components.evaluate.layout import SENTENCES

    if arguments.seed < 0:
        raise UserError(f"--seed {arguments.seed}: expected 0 or more")
    folder = arguments.run
    evaluated = folder if (folder / SENTENCES).is_dir() else folder / "evaluate"
    found = compare(
        evaluated,
        arguments.trials,
        task=arguments.task,
        test_set=arguments.test_set,
        resamples=arguments.resamples,
        seed=arguments.seed,
    )
    if arguments.json:
        records = [
            dataclasses.asdict(one) | {"difference": one.difference} for one in found
        ]
        print(json.dumps(records, indent=1, ensure_ascii=False))
    else:
        sys.stdout.write(table(found))
