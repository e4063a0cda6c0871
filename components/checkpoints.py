"""Checkpoints: named arrays and a small record, in one file, written atomically.

The file is a NumPy ``.npz`` archive, whose entries carry checksums: a truncated
or damaged file is recognised as such when it is read.
"""

from __future__ import annotations

import io
import json
import logging
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

log = logging.getLogger(__name__)

_RECORD = "__record__"


def save(path: Path, arrays: Mapping[str, np.ndarray], record: Any = None) -> None:
    """Writes arrays and a JSON record to ``path``, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text = np.frombuffer(json.dumps(record).encode(), np.uint8)
    with open(temporary, "wb") as file:
        np.savez(file, **{_RECORD: text}, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def load(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """Reads what `save` wrote. Raises ``ValueError`` when the file is damaged."""
    try:
        with np.load(io.BytesIO(path.read_bytes())) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise ValueError(f"{path}: damaged checkpoint ({error})") from None
    if _RECORD not in arrays:
        raise ValueError(f"{path}: not a checkpoint of ours")
    return arrays, json.loads(arrays.pop(_RECORD).tobytes().decode())


def save_step(
    directory: Path,
    step: int,
    arrays: Mapping[str, np.ndarray],
    record: Any,
    *,
    keep: int = 2,
) -> None:
    """Saves ``step-00001200.npz`` and removes all but the newest ``keep``."""
    save(directory / f"step-{step:08d}.npz", arrays, record)
    for old in _newest_first(directory)[keep:]:
        old.unlink()


def load_newest(directory: Path) -> tuple[dict[str, np.ndarray], Any] | None:
    """The newest readable step; a damaged one is passed over, with a warning."""
    for path in _newest_first(directory):
        try:
            return load(path)
        except ValueError as error:
            log.warning("%s; falling back to the one before", error)
    return None


def _newest_first(directory: Path) -> list[Path]:
    return sorted(directory.glob("step-*.npz"), reverse=True)
