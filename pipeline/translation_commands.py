"""Commands of trained models: ``translate`` and ``export``."""

from __future__ import annotations

import dataclasses
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from components.engines.preemption import Preempted
from models.errors import FieldError, UserError
from models.nmt.search_options import SearchOptions
from pipeline.options import Call, option, options_of

if TYPE_CHECKING:
    from components.serve.lines import Found, LineTranslator, Tally

log = logging.getLogger(__name__)

_SEARCH = (
    "beams", "length_normalisation", "max_length_ratio", "nbest", "temperature", "seed",
)  # fmt: skip
# What a model was exported with, or what only another model needs.
_NOT_OF_EXPORTED = (
    *(f"--{name.replace('_', '-')}" for name in _SEARCH),
    "--from", "--batch", "--longest", "--tokens", "--zero-shot",
)  # fmt: skip
_FIRST_REPORT = 1.0  # seconds before progress is worth a line


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OfModel:
    """A trained model.

    Attributes:
      checkpoint: Folder of a trial, or of a model that `export` wrote.
      tokens: The artifact of tokenize it was trained on; beside train when left out.
      zero_shot: Accept languages that the model was not trained for.
    """

    checkpoint: Path = option("DIR")
    tokens: Path | None = option("DIR", default=None)
    zero_shot: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Translate(_OfModel):
    """Translates standard input line by line: as many lines come out as go in, in the
    same order, whatever they hold. Lines that are longer than any the model was trained
    on are translated in pieces.

      polyscale translate --checkpoint runs/mine/train/TRIAL --to de < source.txt

    With --nbest, one line a translation: number of the source line from 0, translation
    and score, between ` ||| `. With --scores, translation and score with a tab between.

    Attributes:
      to: Language to write; may be left out when the model writes only one.
      source: Language to read, for a model that was not trained for the pair.
      search: How to search.
      scores: The score beside each translation.
      batch: Sentences that are decoded side by side.
      window: Lines that are read ahead and batched by length.
      longest: Source tokens of a sentence; longer lines are translated in pieces. The
        longest that the model was trained on when left out.
    """

    to: str | None = option("LANGUAGE", default=None)
    source: str | None = option("LANGUAGE", default=None, flag="--from")
    search: SearchOptions = options_of(SearchOptions, only=_SEARCH)
    scores: bool = False
    batch: int = 128
    window: int = 2000
    longest: int | None = option("TOKENS", default=None)

    def __post_init__(self) -> None:
        for name in ("batch", "window", "longest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise FieldError(name, f"{value}; expected 1 or more")

    def run(self, call: Call) -> None:
        """Translates standard input."""
        from components.engines.tensorflow_start import start_tensorflow
        from components.serve.lines import Tally, groups, translate_lines

        _check_folder(self.checkpoint)
        start_tensorflow()
        translator = _translator(self, call)
        tally = Tally()
        lines = groups(sys.stdin.buffer, self.window)
        report = _Progress()
        number = 0
        try:
            for found in translate_lines(translator, lines, tally, report):
                _write(sys.stdout.buffer, found, number, self)
                number += len(found)
        except (KeyboardInterrupt, Preempted) as stop:
            raise type(stop)(f"stopped; lines translated: {tally.lines}") from None
        finally:
            report.end()
        _say_what_was_odd(translator, tally)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export(_OfModel):
    """Writes a trained model as a SavedModel that takes strings and returns
    translations: tokenisation is inside, all languages are in one model. DIR/1, DIR/2,
    ... are versions, as TensorFlow Serving wants them; the server needs the operations
    of tensorflow-text.

    Attributes:
      out: Folder of the model's versions.
      search: How to search.
      lengths: Source lengths, in tokens, to compile for; a text that is longer than the
        last is cut.
      batches: Numbers of texts to compile for.
    """

    out: Path = option("DIR")
    search: SearchOptions = options_of(SearchOptions, only=_SEARCH[:3])
    lengths: tuple[int, ...] = (32, 128)
    batches: tuple[int, ...] = (1, 16)

    def run(self, call: Call) -> None:
        """Exports the model, and prints where it is."""
        from components.engines.tensorflow_start import start_tensorflow
        from components.serve.versions import Shapes

        shapes = Shapes(batches=self.batches, lengths=self.lengths)
        _check_folder(self.checkpoint)
        start_tensorflow()
        from components.evaluate.trained import load_trained
        from components.serve.export import export

        trained = load_trained(self.checkpoint, self.tokens)
        made = export(
            trained, self.search, self.out, shapes=shapes, zero_shot=self.zero_shot
        )
        print(made)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UserError(
            f"--checkpoint {folder}: no such folder; expected runs/NAME/train/TRIAL, "
            "or a model that `polyscale export` wrote"
        )


def _translator(command: Translate, call: Call) -> LineTranslator:
    from components.serve.versions import newest_export

    exported = newest_export(command.checkpoint)
    if exported is not None:
        from components.serve.exported import ExportedTranslator

        call.refuse(
            *_NOT_OF_EXPORTED,
            because=f"{exported} is an exported model, which holds this already",
        )
        return ExportedTranslator(exported, command.to)
    from components.evaluate.trained import load_trained
    from components.serve.trial import TrialTranslator

    trained = load_trained(command.checkpoint, command.tokens)
    tag = trained.tag(command.to, command.source, zero_shot=command.zero_shot)
    return TrialTranslator(
        trained,
        command.search,
        to=command.to or trained.targets[0],
        tag=tag,
        longest=command.longest or trained.longest_source,
        batch=command.batch,
    )


def _write(
    stream: BinaryIO,
    found: list[tuple[Found, ...]],
    number: int,
    command: Translate,
) -> None:
    lines = []
    for place, own in enumerate(found, start=number):
        if command.search.nbest > 1:
            lines += [f"{place} ||| {one.text} ||| {one.score:.6f}" for one in own]
        elif command.scores:
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
