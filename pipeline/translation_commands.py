"""Commands of trained models: ``translate`` and ``export``."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from components.engines.preemption import Preempted
from models.errors import FieldError, UserError
from pipeline.command_parser import add_command, positive_count, positive_number

if TYPE_CHECKING:
    from components.serve.lines import Found, LineTranslator, Tally
    from models.nmt.search_options import SearchOptions

log = logging.getLogger(__name__)

_TRANSLATE = """\
Translates standard input line by line: as many lines come out as go in, in the same
order, whatever they hold. Lines that are longer than any the model was trained on are
translated in pieces.

  polyscale translate --checkpoint runs/mine/train/TRIAL --to de < source.txt

With --nbest, one line a translation: number of the source line from 0, translation and
score, between ` ||| `. With --scores, translation and score with a tab between.
"""

_EXPORT = """\
Writes a trained model as a SavedModel that takes strings and returns translations:
tokenisation is inside, all languages are in one model. DIR/1, DIR/2, ... are versions,
as TensorFlow Serving wants them; the server needs the operations of tensorflow-text.
"""

# Field of the search's options -> the option that sets it.
_SEARCH_OPTIONS = {
    "beams": "--beams",
    "nbest": "--nbest",
    "length_normalisation": "--length-normalisation",
    "max_length_ratio": "--max-length-ratio",
    "temperature": "--temperature",
    "seed": "--seed",
}
_FIRST_REPORT = 1.0  # seconds before progress is worth a line


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the commands to the parser."""
    _add_translate(commands)
    _add_export(commands)


def _add_translate(commands: argparse._SubParsersAction) -> None:
    translate = add_command(
        commands, "translate", "lines of text with a trained model", _TRANSLATE
    )
    _add_model(translate, "folder of a trial, or of a model that `export` wrote")
    translate.add_argument(
        "--to", metavar="LANGUAGE", default=None,
        help="language to write; may be left out when the model writes only one",
    )  # fmt: skip
    translate.add_argument(
        "--from", metavar="LANGUAGE", dest="source", default=None,
        help="language to read, to be told when the model was not trained for the pair",
    )  # fmt: skip
    _add_search(translate)
    translate.add_argument(
        "--nbest", metavar="K", type=positive_count, default=1,
        help="translations of each line (default: 1)",
    )  # fmt: skip
    translate.add_argument(
        "--scores", action="store_true", help="the score beside each translation"
    )
    translate.add_argument(
        "--temperature", metavar="X", type=positive_number, default=None,
        help="draw samples instead of searching for the best",
    )  # fmt: skip
    translate.add_argument(
        "--seed", metavar="K", type=int, default=0, help="of the samples (default: 0)"
    )
    translate.add_argument(
        "--batch", metavar="K", type=positive_count, default=128,
        help="sentences that are decoded side by side (default: 128)",
    )  # fmt: skip
    translate.add_argument(
        "--window", metavar="K", type=positive_count, default=2000,
        help="lines that are read ahead and batched by length (default: 2000)",
    )  # fmt: skip
    translate.add_argument(
        "--longest", metavar="TOKENS", type=positive_count, default=None,
        help="source tokens of a sentence; longer lines are translated in pieces "
        "(default: the longest that the model was trained on)",
    )  # fmt: skip
    translate.set_defaults(handler=_handle_translate)


def _add_export(commands: argparse._SubParsersAction) -> None:
    export = add_command(commands, "export", "a trained model for a server", _EXPORT)
    _add_model(export, "folder of a trial")
    export.add_argument(
        "--out", metavar="DIR", type=Path, required=True,
        help="folder of the model's versions",
    )  # fmt: skip
    _add_search(export)
    export.add_argument(
        "--lengths", metavar="K,...", default="32,128",
        help="source lengths, in tokens, to compile for; a text that is longer than "
        "the last is cut (default: 32,128)",
    )  # fmt: skip
    export.add_argument(
        "--batches", metavar="K,...", default="1,16",
        help="numbers of texts to compile for (default: 1,16)",
    )  # fmt: skip
    export.set_defaults(handler=_handle_export)


def _add_model(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument(
        "--checkpoint", metavar="DIR", type=Path, required=True, help=text
    )
    parser.add_argument(
        "--tokens", metavar="DIR", type=Path, default=None,
        help="the artifact of tokenize it was trained on (default: beside train)",
    )  # fmt: skip
    parser.add_argument(
        "--zero-shot", action="store_true",
        help="accept languages that the model was not trained for",
    )  # fmt: skip


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--beams", metavar="K", type=positive_count, default=4,
        help="width of the beam; 1 is greedy search (default: 4)",
    )  # fmt: skip
    parser.add_argument(
        "--length-normalisation", metavar="X", type=float, default=1.0,
        help="exponent of the length that a score is divided by (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--max-length-ratio", metavar="X", type=float, default=2.0,
        help="target tokens at most, a source token (default: 2, and 10 more)",
    )  # fmt: skip


def _search(arguments: argparse.Namespace) -> SearchOptions:
    from models.nmt.search_options import SearchOptions

    given = {
        name: getattr(arguments, name)
        for name in _SEARCH_OPTIONS
        if hasattr(arguments, name)
    }
    try:
        return SearchOptions(**given)
    except FieldError as error:
        option = _SEARCH_OPTIONS.get(error.field, error.field)
        raise UserError(f"{option}: {error.problem}") from None


def _handle_translate(arguments: argparse.Namespace) -> None:
    from components.engines.tensorflow_start import start_tensorflow
    from components.serve.lines import Tally, groups, translate_lines

    options = _search(arguments)
    _check_folder(arguments.checkpoint)
    start_tensorflow()
    translator = _translator(arguments, options)
    tally = Tally()
    lines = groups(sys.stdin.buffer, arguments.window)
    report = _Progress()
    number = 0
    try:
        for found in translate_lines(translator, lines, tally, report):
            _write(sys.stdout.buffer, found, number, arguments)
            number += len(found)
    except (KeyboardInterrupt, Preempted) as stop:
        raise type(stop)(f"stopped; lines translated: {tally.lines}") from None
    finally:
        report.end()
    _say_what_was_odd(translator, tally)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UserError(
            f"--checkpoint {folder}: no such folder; expected runs/NAME/train/TRIAL, "
            "or a model that `polyscale export` wrote"
        )


def _translator(
    arguments: argparse.Namespace, options: SearchOptions
) -> LineTranslator:
    from components.serve.versions import newest_export

    exported = newest_export(arguments.checkpoint)
    if exported is not None:
        from components.serve.exported import ExportedTranslator

        for name, default in (("beams", 4), ("nbest", 1), ("temperature", None)):
            if getattr(arguments, name) != default:
                raise UserError(
                    f"--{name}: {exported} is an exported model, whose search was "
                    "chosen when it was exported"
                )
        return ExportedTranslator(exported, arguments.to)
    from components.evaluate.trained import load_trained
    from components.serve.trial import TrialTranslator

    trained = load_trained(arguments.checkpoint, arguments.tokens)
    tag = trained.tag(arguments.to, arguments.source, zero_shot=arguments.zero_shot)
    return TrialTranslator(
        trained,
        options,
        to=arguments.to or trained.targets[0],
        tag=tag,
        longest=arguments.longest or trained.longest_source,
        batch=arguments.batch,
    )


def _write(
    stream: BinaryIO,
    found: list[tuple[Found, ...]],
    number: int,
    arguments: argparse.Namespace,
) -> None:
    lines = []
    for place, own in enumerate(found, start=number):
        if arguments.nbest > 1:
            lines += [f"{place} ||| {one.text} ||| {one.score:.6f}" for one in own]
        elif arguments.scores:
            lines.append(f"{own[0].text}\t{own[0].score:.6f}")
        else:
            lines.append(own[0].text)
    stream.write("".join(f"{line}\n" for line in lines).encode())
    stream.flush()


class _Progress:
    """Lines so far and how fast, on a terminal only."""

    def __init__(self) -> None:
        self._started = self._shown = time.monotonic()
        self._width = 0

    def __call__(self, tally: Tally) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._shown < _FIRST_REPORT:
            return
        self._shown = now
        text = (
            f"{tally.lines} lines, {tally.lines / (now - self._started):.0f} a second"
        )
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = len(text)

    def end(self) -> None:
        """Wipes the line."""
        if self._width:
            sys.stderr.write(f"\r{'':<{self._width}}\r")
            sys.stderr.flush()


def _say_what_was_odd(translator: LineTranslator, tally: Tally) -> None:
    if tally.undecodable:
        log.warning(
            "%d of %d lines were not UTF-8; what could not be read is U+FFFD",
            tally.undecodable,
            tally.lines,
        )
    for count, what in (
        (getattr(translator, "in_pieces", 0), "were long and translated in pieces"),
        (getattr(translator, "cut", 0), "were too long for the exported model and cut"),
    ):
        if count:
            log.warning("%d of %d lines %s", count, tally.lines, what)


def _handle_export(arguments: argparse.Namespace) -> None:
    from components.engines.tensorflow_start import start_tensorflow
    from components.serve.versions import Shapes

    options = _search(arguments)
    shapes = Shapes(
        batches=_counts("--batches", arguments.batches),
        lengths=_counts("--lengths", arguments.lengths),
    )
    _check_folder(arguments.checkpoint)
    start_tensorflow()
    from components.evaluate.trained import load_trained
    from components.serve.export import export

    trained = load_trained(arguments.checkpoint, arguments.tokens)
    made = export(
        trained, options, arguments.out, shapes=shapes, zero_shot=arguments.zero_shot
    )
    print(made)


def _counts(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UserError(
            f"{option} {text}: expected whole numbers, for example 32,128"
        ) from None
