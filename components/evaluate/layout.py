"""What an evaluation reads and where it writes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

IRREDUCIBLE = "irreducible.json"
SENTENCES = "sentences"
QUALITY = "quality.json"
HYPOTHESES = "hypotheses"


@dataclasses.dataclass(frozen=True)
class Folders:
    """The folders of one evaluation.

    Attributes:
      train, tokens: The artifacts that it reads.
      ingest: The artifact with the text of the test sets; ``None`` when nothing is
        translated.
      output: Where the results go.
      translations: Translations that a stopped or an earlier evaluation has made.
      base: Folder that paths in the configuration start from.
    """

    train: Path
    tokens: Path
    ingest: Path | None
    output: Path
    translations: Path
    base: Path
