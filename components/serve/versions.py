"""Versions of an exported model on disk, and what describes one; needs no engine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.errors import UserError

DESCRIPTION = "polyscale.json"
FORMAT = "polyscale.export"


@dataclasses.dataclass(frozen=True)
class Shapes:
    """The static shapes that the search is compiled for.

    The texts of a request are sorted by length and cut into batches of the largest
    size; what is left over goes into the smallest that holds it. Each batch is of the
    smallest length that holds its longest text.

    Attributes:
      batches: Numbers of texts, rising.
      lengths: Source tokens, rising; what is longer is cut.
    """

    batches: tuple[int, ...] = (1, 16)
    lengths: tuple[int, ...] = (32, 128)

    def __post_init__(self) -> None:
        for name in ("batches", "lengths"):
            values = getattr(self, name)
            if not values or min(values) < 1 or list(values) != sorted(set(values)):
                raise UserError(
                    f"--{name} {','.join(map(str, values))}: expected rising whole "
                    "numbers of at least 1"
                )


def newest_export(folder: Path) -> Path | None:
    """The version to load of a folder that `export` made, or the version itself."""
    if (folder / "saved_model.pb").is_file():
        return folder
    versions = _versions(folder)
    return folder / str(versions[-1]) if versions else None


def describe(version: Path) -> Mapping[str, Any]:
    """What an exported model is.

    Raises:
      UserError: It is not one of ours.
    """
    path = version / DESCRIPTION
    if not path.is_file():
        raise UserError(f"{version}: no {DESCRIPTION}; not a model that export wrote")
    return json.loads(path.read_text(encoding="utf-8"))


def _versions(folder: Path) -> Sequence[int]:
    return sorted(
        int(path.parent.name)
        for path in folder.glob("*/saved_model.pb")
        if path.parent.name.isdigit()
    )


def next_version(out: Path) -> int:
    """The number of the next version."""
    return max(_versions(out), default=0) + 1
