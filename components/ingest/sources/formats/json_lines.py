"""JSON Lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from components.ingest.layout import MALFORMED, NOT_TEXT
from components.ingest.sources.formats import fields
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import sides
from components.ingest.sources.lines import text_batches
from models.errors import UserError


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a file of JSON objects; a line that is none is ``malformed``.

    Raises:
      UserError: The first object has no such field, or the file is one large list.
    """
    path, line, wanted = entry.paths[0], 0, None
    language = sides(entry.task)[1]
    for texts, bad in text_batches(path, entry.corpus.encoding_of("target"), language):
        undecodable = set(bad)
        for i, text in enumerate(texts):
            line += 1
            if not text or text.isspace():
                continue
            record = None if i in undecodable else _object(text)
            if record is None:
                if line == 1 and text.lstrip().startswith("["):
                    raise UserError(
                        f"{path}: line 1: a list; expected JSON Lines, an object a line"
                    )
                fault = NOT_TEXT if i in undecodable else MALFORMED
                yield Pair(line, text, "", fault)
                continue
            if wanted is None:
                names = list(fields.dotted(record))
                wanted = fields.find(entry, names, f"{path}: line {line}")
            yield fields.pair_of(record, line, wanted)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
