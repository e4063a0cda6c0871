"""What an evaluation reads and where it writes."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Artifacts:
    """The places of one evaluation.

    Attributes:
      train, tokens: The artifacts that it reads.
      ingest: The artifact with the text of the test sets; ``None`` when nothing is
        translated.
      directory: Where the results go.
      kept: Folder of translations that a stopped or an earlier evaluation has made.
      base: Folder that paths in the configuration start from.
    """

    train: Path
    tokens: Path
    ingest: Path | None
    directory: Path
    kept: Path
    base: Path
