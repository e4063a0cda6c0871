"""Options of the commands that take a trained model: ``translate`` and ``export``.

An option that was not given is no attribute of the parsed arguments, so that an option
that does not apply can be refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.errors import FieldError, UserError
from pipeline.command_parser import positive_count, positive_number

if TYPE_CHECKING:
    from models.nmt.search_options import SearchOptions

# Options of the search -> the fields of `SearchOptions` that they set.
SEARCH_FIELDS = {
    "--beams": "beams",
    "--length-normalisation": "length_normalisation",
    "--max-length-ratio": "max_length_ratio",
    "--nbest": "nbest",
    "--temperature": "temperature",
    "--seed": "seed",
}

_OPTIONS: dict[str, tuple[str, Any, str]] = {
    "--tokens": ("DIR", Path,
        "the artifact of tokenize it was trained on (default: beside train)"),
    "--to": ("LANGUAGE", str,
        "language to write; may be left out when the model writes only one"),
    "--from": ("LANGUAGE", str,
        "language to read; refused when the model was not trained for the pair"),
    "--beams": ("K", positive_count,
        "width of the beam; 1 is greedy search (default: 4)"),
    "--length-normalisation": ("X", float,
        "exponent of the length that a score is divided by (default: 1)"),
    "--max-length-ratio": ("X", float,
        "target tokens at most, a source token (default: 2, and 10 more)"),
    "--nbest": ("K", positive_count, "translations of each line (default: 1)"),
    "--temperature": ("X", positive_number,
        "draw samples instead of searching for the best"),
    "--seed": ("K", int, "of the samples (default: 0)"),
    "--compute-type": ("TYPE", str,
        "of the matrix products: float32, int8, bfloat16 (default: float32)"),
    "--batch": ("K", positive_count,
        "sentences that are decoded together (default: 64)"),
    "--longest": ("TOKENS", positive_count,
        "source tokens of a sentence; longer lines are translated in pieces "
        "(default: the longest that the model was trained on)"),
    "--lengths": ("K,...", str,
        "source lengths, in tokens, to make graphs for; a text that is longer than "
        "the last is cut (default: 32,128)"),
}  # fmt: skip


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds options by name."""
    for name in names:
        metavar, kind, text = _OPTIONS[name]
        parser.add_argument(
            name, metavar=metavar, type=kind, default=argparse.SUPPRESS, help=text
        )


def add_model(parser: argparse.ArgumentParser, text: str) -> None:
    """Adds the options that name the model."""
    parser.add_argument(
        "--checkpoint", metavar="DIR", type=Path, required=True, help=text
    )
    add_options(parser, "--tokens")
    parser.add_argument(
        "--zero-shot", action="store_true", default=argparse.SUPPRESS,
        help="accept languages that the model was not trained for",
    )  # fmt: skip


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Option -> value, of those that were given or have a default."""
    return {
        f"--{name.replace('_', '-')}": value for name, value in vars(arguments).items()
    }


def refuse(given: Mapping[str, Any], options: Iterable[str], reason: str) -> None:
    """Raises ``UserError`` if one of these options was given."""
    for option in options:
        if option in given:
            raise UserError(f"{option}: {reason}; leave it out")


def search_options(given: Mapping[str, Any]) -> SearchOptions:
    """The search that a command line asks for.

    Raises:
      UserError: An option is out of its range, or does not apply.
    """
    from models.nmt.search_options import SearchOptions

    if "--temperature" in given:
        refuse(given, ("--beams",), "does not apply to samples (--temperature)")
    else:
        refuse(given, ("--seed",), "is of samples and needs --temperature")
    fields = {
        field: given[option]
        for option, field in SEARCH_FIELDS.items()
        if option in given
    }
    try:
        return SearchOptions(**fields)
    except FieldError as error:
        options = {field: option for option, field in SEARCH_FIELDS.items()}
        option = options.get(error.field, error.field)
        raise UserError(f"{option}: {error.problem}") from None


def check_folder(folder: Path) -> None:
    """Raises ``UserError`` unless the folder of a model is there."""
    if not folder.is_dir():
        raise UserError(
            f"--checkpoint {folder}: no such folder; expected runs/NAME/train/TRIAL, "
            "or a SavedModel that `polyscale export` wrote"
        )
