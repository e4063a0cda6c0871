"""Configuration of the ``tokenize`` step; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from typing import Literal

from components.artifacts.file_path import FilePath
from components.engines import beam_runner
from models.errors import FieldError

LONGEST_ROW = 16383
LEAST_COVERAGE = 0.98  # SentencePiece accepts no less


@dataclasses.dataclass(frozen=True)
class Config:
    """From clean text to one vocabulary and packed rows of token ids.

    Attributes:
      vocabulary_size: Pieces of the one SentencePiece model of all languages,
        special pieces and tags included.
      model_type: How SentencePiece chooses pieces.
      character_coverage: Share of the characters of the training text that get
        a piece; the rest is unknown, or bytes with ``byte_fallback``.
      byte_fallback: Whether an unknown character becomes its UTF-8 bytes; takes
        256 pieces of the vocabulary.
      normalization: SentencePiece's normalisation of text.
      sentences: Sentences of each language that the vocabulary is trained on, at
        most; with a temperature, pairs of each task on average.
      temperature: Null: every language gives as many sentences as the one that has
        the fewest. A number T: task i gives pairs in proportion to n_i^(1/T): 1 as
        they come, larger ever more equally.
      model: An existing SentencePiece model to use instead of training one,
        relative to the experiment file. It has ``vocabulary_size`` pieces, padding
        0, end 1 and unknown 2, and the tags that the tasks need.
      source_length: Positions of a row's source side.
      target_length: Positions of a row's target side.
      packing_window: Pairs among which packing looks for what fits best; more waste
        less, and leave pairs less in their order.
      beam_options: Options for Beam; the runner is FnApiRunner unless named.
    """

    vocabulary_size: int = 2000
    model_type: Literal["unigram", "bpe", "word"] = "unigram"
    character_coverage: float = 1.0
    byte_fallback: bool = False
    normalization: Literal["nfkc", "nmt_nfkc", "nfkc_cf", "identity"] = "nfkc"
    sentences: int = 20_000
    temperature: float | None = None
    model: FilePath | None = None
    source_length: int = 64
    target_length: int = 64
    packing_window: int = 1024
    beam_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        least = 256 + 8 if self.byte_fallback else 8
        if self.vocabulary_size < least:
            raise FieldError(
                "vocabulary_size", f"{self.vocabulary_size} must be at least {least}"
            )
        if not LEAST_COVERAGE <= self.character_coverage <= 1:
            raise FieldError(
                "character_coverage",
                f"{self.character_coverage:g} must lie in [{LEAST_COVERAGE}, 1]",
            )
        if self.temperature is not None and not self.temperature >= 1:
            raise FieldError("temperature", f"{self.temperature:g} must be at least 1")
        for name in ("sentences", "packing_window"):
            if getattr(self, name) < 1:
                raise FieldError(name, f"{getattr(self, name)} must be at least 1")
        for name in ("source_length", "target_length"):
            if not 4 <= getattr(self, name) <= LONGEST_ROW:
                raise FieldError(
                    name, f"{getattr(self, name)} must lie in [4, {LONGEST_ROW}]"
                )
        beam_runner.check(self.beam_options)
