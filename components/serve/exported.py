"""An exported model as a translator of lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations that the graph has

from components.serve.lines import Found
from components.serve.versions import describe
from models.errors import UserError

_TOGETHER = 256


class ExportedTranslator:
    """Translates texts with a SavedModel that `export` wrote.

    Args:
      version: Its folder.
      to: The language; may be left out when it writes only one.

    Raises:
      UserError: It is not such a model, or does not write the language.
    """

    def __init__(self, version: Path, to: str | None):
        languages = describe(version)["languages"]
        if to is None and len(languages) > 1:
            raise UserError(f"--to is missing; {version} writes {', '.join(languages)}")
        to = to or languages[0]
        if to not in languages:
            raise UserError(
                f"--to {to}: {version} does not write this language, only "
                f"{', '.join(languages)}"
            )
        self._loaded = tf.saved_model.load(str(version))
        self._translate = self._loaded.signatures[f"translate_{to}"]
        self.cut = 0  # texts so far that were cut, or whose translation was

    def translate(self, texts: list[str]) -> list[tuple[Found, ...]]:
        """See `components.serve.lines.LineTranslator`."""
        found: list[tuple[Found, ...]] = []
        for first in range(0, len(texts), _TOGETHER):
            part = texts[first : first + _TOGETHER]
            answer = self._translate(text=tf.constant(part, tf.string))
            self.cut += int(np.sum(~answer["complete"].numpy()))
            found += [
                (Found(text.decode(), float(score)),)
                for text, score in zip(
                    answer["translation"].numpy(), answer["score"].numpy(), strict=True
                )
            ]
        return found
