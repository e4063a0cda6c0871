"""A SavedModel that takes strings and returns translations.

The whole way is in the graph: Unicode repair, SentencePiece (tensorflow-text), the
tag of the language, search, detokenisation. ``OUT/<version>/`` is what TensorFlow
Serving watches; its signatures are

* ``serving_default``: ``text`` and, where the model writes several languages, ``to``
  (one a text, or one for all), string ``[sentences]``;
* ``translate_<language>``: ``text`` alone.

Both return ``translation`` (string), ``score`` (float) and ``complete`` (bool: the
source was not cut and the translation came to its end), ``[sentences]`` each. The
server needs the operations of tensorflow-text; `tensorflow_text` in Python.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import tensorflow as tf

from components.artifacts import manifest
from components.evaluate.trained import Trained
from components.serve.graph import TranslationModule
from components.serve.versions import DESCRIPTION, FORMAT, Shapes, next_version
from components.version import VERSION
from models.errors import UserError
from models.nmt.search_options import SearchOptions


def export(
    trained: Trained,
    options: SearchOptions,
    out: Path,
    *,
    shapes: Shapes | None = None,
    zero_shot: bool = False,
) -> Path:
    """Writes the next version of a model to a folder.

    Args:
      trained: The model.
      options: Of the search.
      out: Folder of all versions.
      shapes: To compile for.
      zero_shot: Offer languages too that the model has not been trained to write.

    Returns:
      ``out/<version>``, complete: it gets its name last.

    Raises:
      UserError: The model writes no language, or sampling is asked for.
    """
    if options.temperature is not None:
        raise UserError("export: samples cannot be served; leave out --temperature")
    tags = offered(trained, zero_shot=zero_shot)
    module = TranslationModule(trained, options, tags, shapes or Shapes())
    version = next_version(out)
    temporary = out / f".{version}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    tf.saved_model.save(module, str(temporary), signatures=module.signatures())
    description = {
        "format": FORMAT,
        "version": VERSION,
        "trial": trained.name,
        "languages": list(tags),
        "search": manifest.plain(options),
        "shapes": manifest.plain(shapes or Shapes()),
    }
    text = json.dumps(description, indent=1, ensure_ascii=False)
    manifest.write_atomically(temporary / DESCRIPTION, text + "\n")
    os.replace(temporary, out / str(version))
    return out / str(version)


def offered(trained: Trained, *, zero_shot: bool) -> dict[str, str | None]:
    """Language -> tag, of those that the model was trained to write.

    Raises:
      UserError: There is none.
    """
    found: dict[str, str | None] = {}
    for task, tag in trained.tags.items():
        if zero_shot or trained.weights.get(task, 0) > 0:
            found[task.partition("-")[2]] = tag
    if not found:
        raise UserError(f"{trained.name}: trained for no task of its vocabulary")
    return found
