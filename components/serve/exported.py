"""Exported SavedModels: their versions on disk, and translation with one."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path

from components.artifacts.manifest import write_atomically
from components.serve.lines import Translated
from components.version import VERSION
from models.errors import UserError
from models.nmt.search_options import SearchOptions

_FILE = "polyscale.json"
_FORMAT = "polyscale.export"
_BATCH = 64  # texts


@dataclasses.dataclass(frozen=True)
class Description:
    """What an exported model is: ``polyscale.json`` in its folder.

    Attributes:
      trial: The trial that it was made from.
      languages: That it writes.
      search: How it looks for translations.
      lengths: Source lengths of its graphs, in tokens; what is longer is cut.
    """

    trial: str
    languages: tuple[str, ...]
    search: SearchOptions
    lengths: tuple[int, ...]

    def save(self, version: Path) -> None:
        """Writes the file."""
        record = {"format": _FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_atomically(version / _FILE, text + "\n")

    @classmethod
    def load(cls, version: Path) -> Description:
        """Reads the file.

        Raises:
          UserError: The folder is not a SavedModel that `save` described.
        """
        path = version / _FILE
        if not path.is_file():
            raise UserError(f"{version}: no {_FILE}; not a model that export wrote")
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            record["trial"],
            tuple(record["languages"]),
            SearchOptions(**record["search"]),
            tuple(record["lengths"]),
        )


def newest_export(folder: Path) -> Path | None:
    """The newest version in a folder of SavedModels, or the version itself."""
    if (folder / "saved_model.pb").is_file():
        return folder
    versions = _versions(folder)
    return folder / str(versions[-1]) if versions else None


def next_version(out: Path) -> int:
    """The number of the next version."""
    return max(_versions(out), default=0) + 1


def _versions(folder: Path) -> Sequence[int]:
    return sorted(
        int(path.parent.name)
        for path in folder.glob("*/saved_model.pb")
        if path.parent.name.isdigit()
    )


class ExportedTranslator:
    """Translates texts with an exported SavedModel.

    Args:
      version: Its folder.
      to: The language; may be left out when it writes only one.

    Attributes:
      cut: Texts so far that were cut, or whose translation was.

    Raises:
      UserError: It is not such a model, or does not write the language.
    """

    def __init__(self, version: Path, to: str | None):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  registers operations of the graph

        languages = Description.load(version).languages
        if to is None and len(languages) > 1:
            raise UserError(f"--to is missing; {version} writes {', '.join(languages)}")
        to = to or languages[0]
        if to not in languages:
            raise UserError(
                f"--to {to}: {version} does not write this language, only "
                f"{', '.join(languages)}"
            )
        self.cut = 0
        # The signature lives as long as the object that it was loaded with.
        self._loaded = tf.saved_model.load(str(version))
        self._as_tensor = functools.partial(tf.constant, dtype=tf.string)
        self._translate = self._loaded.signatures[f"translate_{to}"]

    def translate(self, texts: list[str]) -> list[tuple[Translated, ...]]:
        """See `components.serve.lines.LineTranslator`."""
        found: list[tuple[Translated, ...]] = []
        for first in range(0, len(texts), _BATCH):
            part = texts[first : first + _BATCH]
            answer = self._translate(text=self._as_tensor(part))
            self.cut += int((~answer["complete"].numpy()).sum())
            found += [
                (Translated(text.decode(), float(score)),)
                for text, score in zip(
                    answer["translation"].numpy(), answer["score"].numpy(), strict=True
                )
            ]
        return found
