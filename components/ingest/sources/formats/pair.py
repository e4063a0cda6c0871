"""One pair as a file of any format holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """A pair and what its file says of it.

    Attributes:
      line: Line it begins on, or number of the record, from 1; rising.
      source: Source side, empty where there is none.
      target: Target side, likewise.
      fault: The rule that rejects it before any other, or empty.
      origin: Code of the language it was first written in, or ``source``,
        ``target`` or ``mixed``; empty where unknown.
      details: ``references`` (all of them, the target first), ``document``, ...
    """

    line: int
    source: str
    target: str
    fault: str = ""
    origin: str = ""
    details: Mapping[str, Any] | None = None
