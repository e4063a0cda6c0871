"""``polyscale``: the command line.

Start-up imports nothing heavy: each command's module brings only its arguments, and
what a command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from components.engines import preemption
from components.engines.preemption import Preempted
from components.version import VERSION
from models.errors import UserError
from pipeline import (
    comparison_command,
    experiment_commands,
    export_command,
    law_commands,
    question_commands,
    translate_command,
)
from pipeline.command_parser import Formatter, Parser

_PACKAGES = ("components", "models", "pipeline")

_DESCRIPTION = """\
Scaling laws for multilingual translation: train small models on a grid of sizes and
mixtures, fit how the loss of each language pair depends on both, and read off what a
model that nobody has trained will do and which weights it should be given.
"""

_EPILOG = """\
start here:
  polyscale plan quickstart        what a sweep will train, and how long it takes
  polyscale run quickstart         text -> models -> laws -> runs/quickstart/report
  polyscale fit my_runs.csv --out laws     only the laws, of runs you already have

`polyscale COMMAND --help` explains each command.
exit status: 0 done, 2 a mistake in what was asked (one line says which), 75 stopped by
SIGTERM with its work saved, 1 otherwise
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command; parsed arguments carry a ``handler``."""
    parser = Parser(
        prog="polyscale",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"polyscale {VERSION}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser
    )
    experiment_commands.add(commands)
    law_commands.add(commands)
    question_commands.add(commands)
    comparison_command.add(commands)
    translate_command.add(commands)
    export_command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
      argv: Arguments without the program's name; ``None`` reads the command line.

    Returns:
      0 when it succeeded, 2 on a mistake of the person (after one line on stderr), 75
      when SIGTERM stopped it: the same command goes on from there.
      Anything unexpected is raised, which ends the process with status 1.
    """
    parser = build_parser()
    try:
        arguments = parser.parse_args(argv)
        if arguments.command is None:
            parser.print_help()
            return 0
        _configure_logging()
        with preemption.raising():
            arguments.handler(arguments)
        sys.stdout.flush()
    except UserError as error:
        print(f"polyscale: {error}", file=sys.stderr)
        return 2
    except Preempted as stop:
        print(f"polyscale: {stop}", file=sys.stderr)
        return preemption.EXIT_STATUS
    except KeyboardInterrupt as stop:
        said = str(stop) or "stopped; the same command continues here"
        print(f"polyscale: {said}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is left to say, and
        # Python must not complain while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


class _ProgressHandler(logging.StreamHandler):
    """Our progress and other packages' errors, to whatever stderr is at the time.

    Beam warns about parts that are not installed, and does it through the root
    logger, which would give itself a second handler: so this one sits at the root.
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        ours = record.name.partition(".")[0] in _PACKAGES
        return ours or record.levelno >= logging.ERROR


def _configure_logging() -> None:
    for name in _PACKAGES:
        logging.getLogger(name).setLevel(logging.INFO)
    root = logging.getLogger()
    if not any(isinstance(handler, _ProgressHandler) for handler in root.handlers):
        root.addHandler(_ProgressHandler())
