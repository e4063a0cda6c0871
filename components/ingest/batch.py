"""A batch: pairs as a reader found them, before anything looked at them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

BATCH = 4096


@dataclasses.dataclass
class Batch:
    """Pairs as they were read, ``n`` of them, all from one input.

    Attributes:
      task: Their task.
      split: ``train`` or the name of a test set.
      file: Position of the input in the list of inputs.
      first_line: Line of the first pair, from 1.
      sources: Source sides.
      targets: Target sides.
      faults: Position -> the rule that rejects this pair before any other:
        ``not_text``, ``malformed``, or what the file itself says of it.
      nats: -ln P(target | source) of each pair, or None.
      origins: Original language of each pair, or None.
      lines: Line (or record, counted from 1) of each pair, rising; None where
        they follow on from ``first_line``.
      details: What else is known of each pair, as it goes into the shards of a
        test set: ``references`` (all of them, the target first), ``document``.
    """

    task: str
    split: str
    file: int
    first_line: int
    sources: list[str]
    targets: list[str]
    faults: Mapping[int, str] = dataclasses.field(default_factory=dict)
    nats: list[float] | None = None
    origins: list[str] | None = None
    lines: list[int] | None = None
    details: list[Mapping[str, Any] | None] | None = None

    @property
    def places(self) -> Sequence[int]:
        """Line of each pair."""
        if self.lines is not None:
            return self.lines
        return range(self.first_line, self.first_line + len(self.sources))
