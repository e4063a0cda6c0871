"""Configuration of the ``ingest`` step; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from components.engines import beam_runner
from components.ingest.cleaning.rules import Rules
from components.ingest.duplicates.config import Duplicates
from components.ingest.sources.corpus import Corpus, TextTask, TextTestSet
from components.ingest.sources.synthetic import SyntheticConfig
from models.errors import FieldError

__all__ = ["Config", "Corpus", "Rules", "SyntheticConfig", "TextTask", "TextTestSet"]


@dataclasses.dataclass(frozen=True)
class Config:
    """From raw parallel text to clean, deduplicated, leak-free shards.

    Attributes:
      source: Where the pairs come from: the ``synthetic`` languages or ``text``
        of any kind: files, tables, translation memories, datasets.
      synthetic: The synthetic languages; used when ``source`` is ``synthetic``.
      text: Task -> its text, in any form; used when ``source`` is ``text``.
      rules: The cleaning rules.
      test_sentences: Sentences of each task held out of text as ``in_domain``:
        those whose sources have the smallest hashes. The synthetic source makes
        its own (``synthetic.test_sentences``).
      test_share: With a share, every source whose hash falls below it is kept
        out of training, whether or not ``in_domain`` has room for it: then no
        sentence moves between training and test when data is added. Without
        one, only what is in a test set is kept out.
      duplicates: What counts as a duplicate beyond pairs that are equal.
      shards: Shards of each task's training data; a worker holds one at a time.
      seed: Seed of the hashes: another seed is another split and order.
      beam_options: Options for Beam; the runner is FnApiRunner unless named.
    """

    source: Literal["synthetic", "text"] = "synthetic"
    synthetic: SyntheticConfig = SyntheticConfig()
    text: Mapping[str, TextTask] = dataclasses.field(default_factory=dict)
    rules: Rules = Rules()
    test_sentences: int = 1000
    test_share: float | None = None
    duplicates: Duplicates = Duplicates()
    shards: int = 4
    seed: int = 0
    beam_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.test_sentences < 1:
            raise FieldError(
                "test_sentences", f"{self.test_sentences} must be at least 1"
            )
        if self.test_share is not None and not 0 < self.test_share < 1:
            raise FieldError(
                "test_share", f"{self.test_share:g} must lie between 0 and 1"
            )
        if not 1 <= self.shards <= 99999:
            raise FieldError("shards", f"{self.shards} must lie in [1, 99999]")
        if not 0 <= self.seed < 2**63:
            raise FieldError("seed", f"{self.seed} must lie in [0, 2^63)")
        beam_runner.check(self.beam_options)
