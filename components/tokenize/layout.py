"""What ``tokenize`` writes, by name: shared by its writer and its readers."""

from __future__ import annotations

from collections.abc import Sequence

FORMAT = "polyscale.tokens"
VERSION = 1
INDEX = "index.json"
DEAD_LETTERS = "dead_letters"
SUFFIX = ".tfrecord"
SIDES = ("source", "target")
KINDS = ("ids", "segments", "positions")
EXAMPLES = "examples"
SENTENCE_IDS = "sentence_ids"
NATS = "nats"
LENGTH = "_length/"  # of a side, with a number of tokens: how many sentences
ORIGINS = "origins"


def row_columns() -> Sequence[str]:
    """``source_ids``, ``source_segments``, ... in the order of the file."""
    return [f"{side}_{kind}" for side in SIDES for kind in KINDS]
