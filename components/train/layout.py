"""What lies where in the folder of one trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CURVE = "curve.csv"
RECORD = "record.json"
WEIGHTS = "checkpoint/weights.npz"
TENSORBOARD = "tensorboard"


def load_record(folder: Path) -> dict[str, Any]:
    """How a trial ended: status (``done`` or ``failed``), reason, steps, seconds,
    epochs of each task's data and the realised share of its examples."""
    return json.loads((folder / RECORD).read_text(encoding="utf-8"))
