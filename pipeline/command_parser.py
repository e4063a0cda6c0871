"""What every command's parser has in common: how it explains and how it refuses."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import NoReturn

from models.errors import UserError
from pipeline.suggestion import suggestion


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of our texts and gives long option names their room."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=88)
        # argparse forgets the indentation of sub-commands when it sizes the column.
        self._action_max_length = 15


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the nearest valid word."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = suggestion(value, known) or f" (known: {', '.join(known)})"
            raise argparse.ArgumentError(action, f"unknown {value!r}{hint}")


def add_command(
    commands: argparse._SubParsersAction, name: str, summary: str, text: str
) -> argparse.ArgumentParser:
    """Adds a command with its line in the overview and its own explanation."""
    return commands.add_parser(
        name,
        help=summary,
        description=text,
        formatter_class=Formatter,
        allow_abbrev=False,
    )


def positive_number(text: str) -> float:
    """Type of an option that is a finite number above 0, such as ``1e9``."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def positive_count(text: str) -> int:
    """Type of an option that counts something, at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number of at least 1"
        )
    return int(text)


def parse_weights(option: str, text: str) -> dict[str, float]:
    """``en-de=2,en-zh=1`` -> numbers by task, 0 or more; an empty text gives none.

    Raises:
      UserError: A part that is not ``task=number``, or a task named twice.
    """
    example = "task=number, for example en-de=2,en-zh=1"
    return parse_numbers(option, text, example, lowest=0.0)


def parse_numbers(
    option: str, text: str, example: str, lowest: float = -math.inf
) -> dict[str, float]:
    """``name=number,..`` -> numbers by name; an empty text gives none.

    Args:
      option: The option, for messages.
      text: What was given.
      example: What is expected.
      lowest: Smallest admissible number.

    Raises:
      UserError: A part that cannot be read, or a name that occurs twice.
    """
    weights: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        task, _, number = (piece.strip() for piece in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not task or not lowest <= value < math.inf or value == -math.inf:
            raise UserError(
                f"{option} {text}: cannot read {part.strip()!r}; expected {example}"
            )
        if task in weights:
            raise UserError(f"{option} {text}: {task} is named twice")
        weights[task] = value
    return weights


def add_out(parser: argparse.ArgumentParser, text: str) -> None:
    """Adds ``--out FILE``, for `deliver`."""
    parser.add_argument("--out", metavar="FILE", type=Path, default=None, help=text)


def deliver(text: str, out: Path | None) -> None:
    """Writes a result to a file, whole or not at all, or to standard output.

    Raises:
      UserError: The file cannot be written, or holds something else.
    """
    from components.artifacts.manifest import write_atomically
    from components.artifacts.outputs import check_file

    if out is None:
        sys.stdout.write(text)
        return
    try:
        check_file(out, text)
        if out.exists() and not out.is_file():
            out.write_text(text, encoding="utf-8")
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror}") from None
