"""The command that translates lines of text: ``translate``."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from components.engines.preemption import Preempted
from components.engines.tensorflow_start import start_tensorflow
from pipeline.command_parser import add_command, positive_count
from pipeline.model_options import (
    SEARCH_FIELDS,
    add_model,
    add_options,
    check_folder,
    given_options,
    refuse,
    search_options,
)

if TYPE_CHECKING:
    from components.serve.lines import LineTranslator, Tally, Translated
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

# Options that do not apply to an exported model.
_OF_TRIALS = (
    *SEARCH_FIELDS, "--from", "--tokens", "--zero-shot", "--compute-type", "--batch",
    "--longest",
)  # fmt: skip
_FIRST_REPORT = 1.0  # seconds before progress is worth a line


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    translate = add_command(
        commands, "translate", "lines of text with a trained model", _TRANSLATE
    )
    add_model(translate, "folder of a trial, or of a SavedModel that `export` wrote")
    add_options(translate, "--to", "--from", *SEARCH_FIELDS)
    translate.add_argument(
        "--scores", action="store_true", help="the score beside each translation"
    )
    add_options(translate, "--compute-type", "--batch", "--longest")
    translate.add_argument(
        "--window", metavar="K", type=positive_count, default=2000,
        help="lines that are read ahead and batched by length (default: 2000)",
    )  # fmt: skip
    translate.set_defaults(handler=_handle_translate)


def _handle_translate(arguments: argparse.Namespace) -> None:
    from components.serve.lines import Tally, groups, translate_lines

    given = given_options(arguments)
    options = search_options(given)
    check_folder(arguments.checkpoint)
    translator = _translator(arguments.checkpoint, given, options)
    tally = Tally()
    lines = groups(sys.stdin.buffer, arguments.window)
    progress = _Progress()
    number = 0
    try:
        for found in translate_lines(translator, lines, tally, progress):
            _write(sys.stdout.buffer, found, number, options.nbest, arguments.scores)
            number += len(found)
    except (KeyboardInterrupt, Preempted) as stop:
        raise type(stop)(f"stopped; lines translated: {tally.lines}") from None
    finally:
        progress.end()
    _warn(translator, tally)


def _translator(
    folder: Path, given: Mapping[str, Any], options: SearchOptions
) -> LineTranslator:
    from components.serve.exported import ExportedTranslator, newest_export

    exported = newest_export(folder)
    if exported is not None:
        reason = f"{exported} is an exported model, for which export decided this"
        refuse(given, _OF_TRIALS, reason)
        start_tensorflow()
        return ExportedTranslator(exported, given.get("--to"))
    from components.serve.texts import TextTranslator
    from components.serve.trained import load_trained

    trained = load_trained(folder, given.get("--tokens"))
    to = given.get("--to")
    tag = trained.tag(to, given.get("--from"), zero_shot="--zero-shot" in given)
    return TextTranslator(
        trained,
        options,
        to=to or trained.targets[0],
        tag=tag,
        longest=given.get("--longest"),
        compute_type=given.get("--compute-type", "float32"),
        batch=given.get("--batch"),
    )


def _write(
    stream: BinaryIO,
    found: list[tuple[Translated, ...]],
    number: int,
    nbest: int,
    scores: bool,
) -> None:
    lines = []
    for place, own in enumerate(found, start=number):
        if nbest > 1:
            lines += [f"{place} ||| {one.text} ||| {one.score:.6f}" for one in own]
        elif scores:
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


def _warn(translator: LineTranslator, tally: Tally) -> None:
    """Counts the lines that may not be translated as expected."""
    for count, what in (
        (tally.undecodable, "were not UTF-8; unreadable bytes became U+FFFD"),
        (getattr(translator, "in_pieces", 0), "were long and translated in pieces"),
        (getattr(translator, "cut", 0), "were too long for the exported model and cut"),
    ):
        if count:
            log.warning("%d of %d lines %s", count, tally.lines, what)
