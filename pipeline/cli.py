"""``polyscale``: the command line.

Start-up imports nothing heavy: a command's module is imported when the command is
called, and brings its options; what the command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from components.engines import preemption
from components.engines.preemption import Preempted
from components.version import VERSION
from models.errors import UserError, suggestion
from pipeline import PACKAGES

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
  polyscale report laws                    ... and their figures

`polyscale COMMAND --help` explains each command.
exit status: 0 done, 2 a mistake in what was asked (one line says which), 75 stopped by
SIGTERM with its work saved, 1 otherwise
"""

# Command -> the class of its options, and its line in the overview.
COMMANDS = {
    "run": ("experiment_commands.Run", "every step that is not already done"),
    "ingest": (
        "experiment_commands.OneStep",
        "raw text -> clean, deduplicated, split text",
    ),
    "select": (
        "experiment_commands.OneStep",
        "clean text -> the part of it most worth training on",
    ),
    "tokenize": (
        "experiment_commands.OneStep",
        "text -> vocabulary and packed token shards",
    ),
    "train": ("experiment_commands.OneStep", "tokens -> one trained model a trial"),
    "evaluate": ("experiment_commands.OneStep", "trained models -> the metrics table"),
    "report": (
        "report_command.Report",
        "everything -> one page with the figures",
    ),
    "plan": ("experiment_commands.Plan", "sizes, trials, FLOPs and time of a sweep"),
    "status": ("experiment_commands.Status", "how far a run has come"),
    "fit": ("law_commands.Fit", "scaling laws of any table of runs"),
    "simulate": ("law_commands.Simulate", "a table from known laws"),
    "predict": ("question_commands.Predict", "predicted losses with intervals"),
    "frontier": ("question_commands.Frontier", "the trade-off between the tasks"),
    "recommend": ("question_commands.Recommend", "weights for a preference"),
    "compare": (
        "comparison_command.Compare",
        "differences between trials, with intervals",
    ),
    "translate": (
        "translation_commands.Translate",
        "lines of text with a trained model",
    ),
    "export": ("translation_commands.Export", "a trained model for other programs"),
}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of our texts and gives long option names their room."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=88)
        # argparse forgets the indentation of sub-commands when it sizes the column.
        self._action_max_length = 15


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the nearest valid word."""

    def __init__(self, **keywords: Any):
        super().__init__(formatter_class=Formatter, allow_abbrev=False, **keywords)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = suggestion(value, known) or f" (known: {', '.join(known)})"
            raise argparse.ArgumentError(action, f"unknown {value!r}{hint}")


class CommandParser(Parser):
    """Parser of one command, whose options are imported when it is called."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        from pipeline import options

        name = self.prog.split()[-1]
        cls = command_class(name)
        if self.get_default("build") is None:
            self.description = options.description(cls)
            options.add_options(self, cls)
            self.set_defaults(build=lambda parsed: options.build(cls, name, parsed))
        return super().parse_known_args(args, namespace)


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command; parsed arguments carry ``build``."""
    parser = Parser(prog="polyscale", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"polyscale {VERSION}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=CommandParser
    )
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def command_class(name: str) -> type:
    """The class whose fields are a command's options."""
    module, _, cls = COMMANDS[name][0].partition(".")
    return getattr(importlib.import_module(f"pipeline.{module}"), cls)


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
        command, call = arguments.build(arguments)
        _configure_logging()
        with preemption.raising():
            command.run(call)
        sys.stdout.flush()
    except UserError as error:
        print(f"polyscale: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        hint = _missing_package(error)
        if hint is None:
            raise
        print(f"polyscale: {hint}", file=sys.stderr)
        return 2
    except Preempted as stop:
        print(f"polyscale: {stop}", file=sys.stderr)
        return preemption.EXIT_STATUS
    except KeyboardInterrupt as stop:
        message = str(stop) or "stopped; the same command continues here"
        print(f"polyscale: {message}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is left to say, and
        # Python must not complain while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def _missing_package(error: ModuleNotFoundError) -> str | None:
    """What to install; ``None`` where no extra of ours brings the package."""
    from importlib import metadata  # slow to import

    package = (error.name or "").partition(".")[0].replace("_", "-")
    try:
        requirements = metadata.requires("polyscale") or []
    except metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        found = re.fullmatch(r"([\w.-]+)[^[]*extra == .([\w-]+).", requirement)
        if found and found[1] == package and found[2] not in ("all", "dev"):
            return (
                f"{package} is not installed; run `pip install 'polyscale[all]'`, or "
                f"polyscale[{found[2]}] for this package and what goes with it"
            )
    return None


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
        ours = record.name.partition(".")[0] in PACKAGES
        told = ours or record.levelno >= logging.ERROR
        return told and bool(super().filter(record))


def _configure_logging() -> None:
    for name in PACKAGES:
        logging.getLogger(name).setLevel(logging.INFO)
    root = logging.getLogger()
    if not any(isinstance(handler, _ProgressHandler) for handler in root.handlers):
        root.addHandler(_ProgressHandler())
