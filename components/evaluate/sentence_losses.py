"""Nats and tokens of every test sentence of a trial, for paired comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from components.artifacts import checkpoints
from components.evaluate.layout import SENTENCES
from models.errors import UserError

_FIELDS = ("nats", "tokens", "numbers", "origins")


@dataclasses.dataclass(frozen=True)
class TestSetLosses:
    """The losses of one trial on one test set.

    Attributes:
      nats: float64 ``[sentences]``, summed over a sentence's target tokens.
      tokens: int64 ``[sentences]``, target tokens with the end of sentence.
      numbers: int ``[sentences]``, place of each sentence in the test set.
      origins: Original language of each sentence; empty where it is not known.
    """

    __test__ = False  # not a test of pytest's

    nats: np.ndarray
    tokens: np.ndarray
    numbers: np.ndarray
    origins: np.ndarray


def save(directory: Path, trial: str, losses: Mapping[str, TestSetLosses]) -> None:
    """Writes the losses of a trial; the keys are ``task/test_set``."""
    arrays = {
        f"{label}/{field}": getattr(own, field)
        for label, own in losses.items()
        for field in _FIELDS
    }
    checkpoints.save(directory / SENTENCES / f"{trial}.npz", arrays)


def load(directory: Path, trial: str) -> dict[str, TestSetLosses]:
    """The losses of a trial in an artifact of ``evaluate``.

    Raises:
      UserError: It has none of this trial.
    """
    path = directory / SENTENCES / f"{trial}.npz"
    if not path.is_file():
        known = sorted(one.stem for one in (directory / SENTENCES).glob("*.npz"))
        shown = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
        raise UserError(
            f"{directory}: no sentence losses of {trial}; there are {shown or 'none'}"
        )
    arrays, _ = checkpoints.load(path)
    labels = dict.fromkeys(name.rpartition("/")[0] for name in arrays)
    return {
        label: TestSetLosses(*(arrays[f"{label}/{field}"] for field in _FIELDS))
        for label in labels
    }
