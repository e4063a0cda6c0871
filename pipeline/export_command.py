"""The command that writes a model for other programs: ``export``."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.engines.tensorflow_start import start_tensorflow
from models.errors import UserError
from pipeline.command_parser import add_command
from pipeline.model_options import (
    SEARCH_FIELDS,
    add_model,
    add_options,
    check_folder,
    given_options,
    refuse,
    search_options,
)

_FORMATS = ("saved-model", "ctranslate2", "huggingface", "keras-hub")
_SEARCH = ("--beams", "--length-normalisation", "--max-length-ratio")

_EXPORT = """\
Writes a trained model for other programs. --format is one of

  saved-model   strings in, translations out: a SavedModel for TensorFlow Serving with
                tokenisation inside; DIR/1, DIR/2, ... are its versions, and the server
                needs the operations of tensorflow-text
  ctranslate2   a model directory of CTranslate2, in float32
  huggingface   transformers.T5ForConditionalGeneration.from_pretrained(DIR)
  keras-hub     keras_hub.models.T5Backbone.from_preset(DIR); encoder and decoder of one
                depth

All but the first also hold the SentencePiece model of the vocabulary.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    export = add_command(
        commands, "export", "a trained model for other programs", _EXPORT
    )
    add_model(export, "folder of a trial")
    export.add_argument(
        "--format", choices=_FORMATS, default=_FORMATS[0],
        help=f"(default: {_FORMATS[0]})",
    )  # fmt: skip
    export.add_argument(
        "--out", metavar="DIR", type=Path, required=True,
        help="new folder; for saved-model the folder of its versions",
    )  # fmt: skip
    add_options(export, *_SEARCH, "--lengths")
    export.set_defaults(handler=_handle_export)


def _handle_export(arguments: argparse.Namespace) -> None:
    from components.serve.trained import load_trained

    given = given_options(arguments)
    if arguments.format != "saved-model":
        reason = f"does not apply to --format {arguments.format}"
        refuse(given, (*SEARCH_FIELDS, "--lengths", "--zero-shot"), reason)
    options = search_options(given)
    lengths = _lengths(given.get("--lengths", "32,128"))
    check_folder(arguments.checkpoint)
    trained = load_trained(arguments.checkpoint, given.get("--tokens"))
    if arguments.format == "saved-model":
        start_tensorflow()
        from components.serve.saved_model import export_saved_model

        print(
            export_saved_model(
                trained,
                options,
                arguments.out,
                lengths=lengths,
                zero_shot="--zero-shot" in given,
            )
        )
        return
    from components.serve.checkpoint_formats import export_checkpoint

    export_checkpoint(trained, arguments.format, arguments.out)
    print(arguments.out)


def _lengths(text: str) -> tuple[int, ...]:
    """``32,128`` -> numbers, rising."""
    try:
        lengths = tuple(int(part) for part in text.split(","))
    except ValueError:
        lengths = ()
    if not lengths or lengths[0] < 1 or list(lengths) != sorted(set(lengths)):
        raise UserError(
            f"--lengths {text}: expected rising whole numbers of at least 1, for "
            "example 32,128"
        )
    return lengths
