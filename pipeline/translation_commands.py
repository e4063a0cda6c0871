"""Commands of trained models: ``translate`` and ``export``."""

from __future__ import annotations

import dataclasses
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from components.engines.preemption import Preempted
from components.engines.tensorflow_start import start_tensorflow
from models.errors import FieldError, UserError
from models.nmt.search_options import SearchOptions
from pipeline.options import Call, option, options_of

if TYPE_CHECKING:
    from components.serve.lines import LineTranslator, Tally, Translated

log = logging.getLogger(__name__)

_SEARCH = (
    "beams", "length_normalisation", "max_length_ratio", "nbest", "temperature", "seed",
)  # fmt: skip
# What a model was exported with, or what only another model needs.
_NOT_OF_EXPORTED = (
    *(f"--{name.replace('_', '-')}" for name in _SEARCH),
    "--from", "--compute-type", "--batch", "--longest", "--tokens", "--zero-shot",
)  # fmt: skip
_OF_SAVED_MODELS = (
    "--beams", "--length-normalisation", "--max-length-ratio", "--lengths",
    "--zero-shot",
)  # fmt: skip
_FIRST_REPORT = 1.0  # seconds before progress is worth a line


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OfModel:
    """A trained model.

    Attributes:
      checkpoint: Folder of a trial; for translate also a SavedModel of export.
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
      source: Language to read; refused when the model was not trained for the pair.
      search: How to search.
      scores: The score beside each translation.
      compute_type: Of the matrix products.
      batch: Sentences that are decoded together.
      window: Lines that are read ahead and batched by length.
      longest: Source tokens of a sentence; longer lines are translated in pieces. The
        longest that the model was trained on when left out.
    """

    to: str | None = option("LANGUAGE", default=None)
    source: str | None = option("LANGUAGE", default=None, flag="--from")
    search: SearchOptions = options_of(SearchOptions, only=_SEARCH)
    scores: bool = False
    compute_type: Literal["float32", "bfloat16", "int8"] = "float32"
    batch: int = 64
    window: int = 2000
    longest: int | None = option("TOKENS", default=None)

    def __post_init__(self) -> None:
        for name in ("batch", "window", "longest"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise FieldError(name, f"{value}; expected 1 or more")

    def run(self, call: Call) -> None:
        """Translates standard input."""
        from components.serve.lines import Tally, groups, translate_lines

        if self.search.samples:
            call.refuse("--beams", because="--temperature draws samples")
        else:
            call.refuse("--seed", because="it is of samples, see --temperature")
        _check_folder(self.checkpoint)
        translator = _translator(self, call)
        tally = Tally()
        lines = groups(sys.stdin.buffer, self.window)
        progress = _Progress()
        number = 0
        try:
            for found in translate_lines(translator, lines, tally, progress):
                _write(sys.stdout.buffer, found, number, self)
                number += len(found)
        except (KeyboardInterrupt, Preempted) as stop:
            raise type(stop)(f"stopped; lines translated: {tally.lines}") from None
        finally:
            progress.end()
        _warn(translator, tally)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export(_OfModel):
    """Writes a trained model for other programs. The formats are

      saved-model   strings in, translations out: a SavedModel for TensorFlow Serving
                    with tokenisation inside; DIR/1, DIR/2, ... are its versions, and
                    the server needs the operations of tensorflow-text
      ctranslate2   a model directory of CTranslate2, in float32
      huggingface   transformers.T5ForConditionalGeneration.from_pretrained(DIR)
      keras-hub     keras_hub.models.T5Backbone.from_preset(DIR)

    All but the first hold the SentencePiece model of the vocabulary too.

    Attributes:
      format: See above.
      out: New folder; of a SavedModel the folder of its versions.
      search: How a SavedModel searches.
      lengths: Source lengths, in tokens, to make a SavedModel's graphs for; a text that
        is longer than the last is cut.
    """

    format: Literal["saved-model", "ctranslate2", "huggingface", "keras-hub"] = (
        "saved-model"
    )
    out: Path = option("DIR")
    search: SearchOptions = options_of(SearchOptions, only=_SEARCH[:3])
    lengths: tuple[int, ...] = (32, 128)

    def __post_init__(self) -> None:
        rising = sorted(set(self.lengths))
        if not rising or rising[0] < 1 or list(self.lengths) != rising:
            shown = ",".join(map(str, self.lengths))
            raise FieldError(
                "lengths", f"{shown}; expected rising whole numbers of at least 1"
            )

    def run(self, call: Call) -> None:
        """Exports the model, and prints where it is."""
        from components.serve.trained import load_trained

        if self.format != "saved-model":
            call.refuse(
                *_OF_SAVED_MODELS, because=f"--format {self.format} has no such thing"
            )
        _check_folder(self.checkpoint)
        trained = load_trained(self.checkpoint, self.tokens)
        if self.format != "saved-model":
            from components.serve.checkpoint_formats import export_checkpoint

            export_checkpoint(trained, self.format, self.out)
            print(self.out)
            return
        start_tensorflow()
        from components.serve.saved_model import export_saved_model

        print(
            export_saved_model(
                trained,
                self.search,
                self.out,
                lengths=self.lengths,
                zero_shot=self.zero_shot,
            )
        )


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UserError(
            f"--checkpoint {folder}: no such folder; expected runs/NAME/train/TRIAL, "
            "or a SavedModel that `polyscale export` wrote"
        )


def _translator(command: Translate, call: Call) -> LineTranslator:
    from components.serve.exported import ExportedTranslator, newest_export

    exported = newest_export(command.checkpoint)
    if exported is not None:
        call.refuse(
            *_NOT_OF_EXPORTED,
            because=f"{exported} is an exported model, which holds this already",
        )
        start_tensorflow()
        return ExportedTranslator(exported, command.to)
    from components.serve.texts import TextTranslator
    from components.serve.trained import load_trained

    trained = load_trained(command.checkpoint, command.tokens)
    tag = trained.tag(command.to, command.source, zero_shot=command.zero_shot)
    return TextTranslator(
        trained,
        command.search,
        to=command.to or trained.targets[0],
        tag=tag,
        longest=command.longest or trained.longest_source,
        compute_type=command.compute_type,
        batch=command.batch,
    )


def _write(
    stream: BinaryIO,
    found: list[tuple[Translated, ...]],
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


def _warn(translator: LineTranslator, tally: Tally) -> None:
    """Counts the lines that may not be translated as expected."""
    for count, what in (
        (tally.undecodable, "were not UTF-8; unreadable bytes became U+FFFD"),
        (getattr(translator, "in_pieces", 0), "were long and translated in pieces"),
        (getattr(translator, "cut", 0), "were too long for the exported model and cut"),
    ):
        if count:
            log.warning("%d of %d lines %s", count, tally.lines, what)
