"""The folder of a trained trial: which files it has, and the record of how it ended."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from components.artifacts.manifest import write_atomically

CURVE = "curve.csv"
WEIGHTS = "checkpoint/weights.npz"
TENSORBOARD = "tensorboard"
_RECORD = "record.json"


def weights_at(step: int) -> str:
    """Where the weights of an evaluation are kept, within a trial's folder."""
    return f"checkpoint/weights-{step:08d}.npz"


def kept_weights(folder: Path) -> dict[int, Path]:
    """Step -> weights, of the evaluations whose weights were kept."""
    return {
        int(path.stem.rpartition("-")[2]): path
        for path in sorted(folder.glob("checkpoint/weights-*.npz"))
    }


@dataclasses.dataclass(frozen=True)
class LossAtStep:
    """The loss on a test set at one evaluation.

    Attributes:
      step: Training step of the evaluation.
      loss: Nats per target token.
    """

    step: int
    loss: float


@dataclasses.dataclass(frozen=True)
class TrialRecord:
    """How a trial ended; ``record.json``.

    Attributes:
      status: ``failed`` when its loss or its process broke down.
      reason: Why it failed.
      steps: Training steps it was to have.
      step: Training steps it had.
      seconds: Its share of the wall time of its group.
      seconds_by_phase: The same by phase, see `components.train.stopwatch`.
      epochs: Task -> how often its data were seen.
      realised_example_share: Task -> share of the examples, as counted.
      realised_target_token_share: Task -> share of the target tokens, as counted.
      best: ``<task>/<test set>`` -> the lowest loss.
      crashed: Whether its worker process died, so that it is worth another attempt.
    """

    status: Literal["done", "failed"]
    reason: str | None
    steps: int
    step: int
    seconds: float
    seconds_by_phase: Mapping[str, float]
    epochs: Mapping[str, float] = dataclasses.field(default_factory=dict)
    realised_example_share: Mapping[str, float] = dataclasses.field(
        default_factory=dict
    )
    realised_target_token_share: Mapping[str, float] = dataclasses.field(
        default_factory=dict
    )
    best: Mapping[str, LossAtStep] = dataclasses.field(default_factory=dict)
    crashed: bool = False

    def save(self, folder: Path) -> None:
        """Writes the record into a trial's folder, whole or not at all."""
        text = json.dumps(dataclasses.asdict(self), indent=1)
        write_atomically(folder / _RECORD, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> TrialRecord:
        """Reads what `save` wrote."""
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        best = {name: LossAtStep(**one) for name, one in record.get("best", {}).items()}
        return cls(**{**record, "best": best})
