"""What lies where in the folder of one trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CURVE = "curve.csv"
RECORD = "record.json"
WEIGHTS = "checkpoint/weights.npz"
TENSORBOARD = "tensorboard"


def kept_weights(folder: Path) -> dict[int, Path]:
    """Step -> weights, of the evaluations whose weights were kept."""
    return {
        int(path.stem.rpartition("-")[2]): path
        for path in sorted(folder.glob("checkpoint/weights-*.npz"))
    }


def weights_at(step: int) -> str:
    """Where the weights of an evaluation are kept, within a trial's folder."""
    return f"checkpoint/weights-{step:08d}.npz"


def load_record(folder: Path) -> dict[str, Any]:
    """How a trial ended: status (``done`` or ``failed``), reason, steps, seconds,
    epochs of each task's data, the realised share of its examples, and the lowest
    loss on each test set."""
    return json.loads((folder / RECORD).read_text(encoding="utf-8"))
