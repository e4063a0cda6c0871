"""What the evaluator measures."""

from __future__ import annotations

import dataclasses
from typing import Literal

from components.artifacts.file_path import FilePath
from models.errors import FieldError
from models.nmt.search_options import SearchOptions

MetricName = Literal["bleu", "chrf", "chrf++", "bleurt", "comet"]


@dataclasses.dataclass(frozen=True)
class Quality:
    """Translation of the test sets, and how good it is.

    Attributes:
      metrics: What to compute. ``chrf`` and ``chrf++`` share a column, so one of
        them.
      test_sets: Names of the test sets to translate; all of them when empty.
      search: How to look for translations.
      zero_shot: Translate tasks too that a trial has never seen (p = 0).
      bleurt: Folder of a BLEURT checkpoint (such as BLEURT-20), relative to the
        experiment file.
      comet: Name of a COMET model, or the path of a checkpoint.
      curve: Translate at every evaluation of the learning curve too, with the weights
        that ``train.keep_weights`` has kept.
    """

    metrics: tuple[MetricName, ...] = ("bleu", "chrf")
    test_sets: tuple[str, ...] = ()
    search: SearchOptions = SearchOptions()
    zero_shot: bool = False
    bleurt: FilePath | None = None
    comet: str = "Unbabel/wmt22-comet-da"
    curve: bool = False

    def __post_init__(self) -> None:
        if not self.metrics:
            raise FieldError("metrics", "empty; expected at least one, such as bleu")
        if len(set(self.metrics)) < len(self.metrics):
            raise FieldError("metrics", "one is named twice")
        if {"chrf", "chrf++"} <= set(self.metrics):
            raise FieldError(
                "metrics", "chrf and chrf++ are one column; choose one of them"
            )
        if "bleurt" in self.metrics and self.bleurt is None:
            raise FieldError(
                "bleurt",
                "missing; expected the folder of a BLEURT checkpoint, such as "
                "BLEURT-20, since metrics names bleurt",
            )


@dataclasses.dataclass(frozen=True)
class Config:
    """Evaluation of every trial on every test set of every task.

    Attributes:
      stack: Most models of one size that are scored side by side.
      quality: Translate the test sets too, and how; only losses when null.
    """

    stack: int = 8
    quality: Quality | None = None

    def __post_init__(self) -> None:
        if self.stack < 1:
            raise FieldError("stack", f"got {self.stack}, expected at least 1")
