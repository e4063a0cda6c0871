"""Checkpoints: named arrays and a small record, in one file, written atomically.

The file is a NumPy ``.npz`` archive, whose entries carry checksums: a truncated
or damaged file is recognised as such when it is read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.errors import UserError

log = logging.getLogger(__name__)

_RECORD = "__record__"
# What reading an archive raises, depending on which of its bytes is wrong.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


@dataclasses.dataclass(frozen=True)
class ModelRecord:
    """What the weights in a checkpoint are of.

    Attributes:
      size: Name of the model size.
      vocabulary_size: Pieces in the vocabulary.
      vocabulary: Digest of the vocabulary: two of one size fit the same weights.
      step: Training steps they had; None for those of the end.
    """

    size: str
    vocabulary_size: int
    vocabulary: str
    step: int | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> ModelRecord:
        """From the record of a checkpoint, whatever else is in it."""
        names = [field.name for field in dataclasses.fields(cls)]
        fields: dict[str, Any] = {name: record.get(name) for name in names}
        return cls(**fields)


def save_weights(
    path: Path, weights: Mapping[str, np.ndarray], model: ModelRecord
) -> None:
    """Writes the weights of a single model, or of a stack of them."""
    save(path, weights, dataclasses.asdict(model))


def load_weights(path: Path) -> tuple[dict[str, np.ndarray], ModelRecord]:
    """Reads what `save_weights` wrote."""
    arrays, record = load(path)
    return arrays, ModelRecord.from_record(record)


def save(path: Path, arrays: Mapping[str, np.ndarray], record: Any = None) -> None:
    """Writes arrays and a JSON record to ``path``, whole or not at all.

    Raises:
      UserError: There is no room or no permission; what was there stays as it is.
    """
    # The names of all entries: damage to the archive's directory may hide some.
    described = {"arrays": sorted(arrays), "record": record}
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    with _replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **{_RECORD: text, **arrays})
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary name that becomes ``path`` when everything went well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise UserError(
            f"{path}: cannot be written: {error.strerror or error}; the checkpoint "
            "before it is intact: make room, and the same command continues there"
        ) from error


def load(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """Reads what `save` wrote.

    Raises:
      UserError: The file is damaged, or not one of ours.
    """
    try:
        with open(path, "rb") as file, np.load(file) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except _DAMAGE as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{path}: damaged checkpoint ({reason})") from None
    if _RECORD not in arrays:
        raise UserError(f"{path}: not a checkpoint of ours")
    described = json.loads(arrays.pop(_RECORD).tobytes().decode())
    if not isinstance(described, dict) or "arrays" not in described:
        raise UserError(f"{path}: a checkpoint of an older version; train again")
    if described["arrays"] != sorted(arrays):
        raise UserError(f"{path}: damaged checkpoint (some of its arrays are missing)")
    return arrays, described["record"]


def save_step(
    directory: Path,
    step: int,
    arrays: Mapping[str, np.ndarray],
    record: Any,
    *,
    keep: int = 2,
) -> Path:
    """Saves ``step-00001200.npz`` and removes all but the newest ``keep``."""
    # What a killed process was writing; a group is trained by one process at a time.
    for left_over in directory.glob(".step-*.tmp"):
        _remove(left_over)
    path = directory / f"step-{step:08d}.npz"
    save(path, arrays, record)
    for old in _newest_first(directory)[keep:]:
        _remove(old)
    return path


def load_newest(directory: Path) -> tuple[dict[str, np.ndarray], Any] | None:
    """The newest readable step; a damaged one is passed over, with a warning."""
    found = next(newest_first(directory), None)
    if found is None and _newest_first(directory):
        log.warning("%s: no readable checkpoint is left; from the start", directory)
    return found


def newest_first(directory: Path) -> Iterator[tuple[dict[str, np.ndarray], Any]]:
    """Every readable step; a damaged one is passed over, with a warning."""
    for path in _newest_first(directory):
        try:
            yield load(path)
        except UserError as error:
            log.warning("%s; falling back to the one before", error)


def check(path: Path, record: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raises ``UserError`` when a checkpoint is of something else.

    Args:
      path: The checkpoint, for the message.
      record: Its record.
      expected: Entries that it must have: ``size``, ``vocabulary``, ...
    """
    for name, value in expected.items():
        found = record.get(name)
        if found != value:
            raise UserError(
                f"{path}: a checkpoint of {name} {found}, expected {value}; choose "
                "what it was made with, or train again in another folder"
            )


def check_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Raises ``UserError`` unless the arrays have the expected names and shapes."""
    found = {name: tuple(array.shape) for name, array in arrays.items()}
    for name in sorted(found.keys() | shapes.keys()):
        if found.get(name) != shapes.get(name):
            raise UserError(
                f"{path}: {name} is {found.get(name, 'missing')}, expected "
                f"{shapes.get(name, 'none')}: a checkpoint of another model or "
                "optimizer; choose what it was made with, or train again"
            )


def _newest_first(directory: Path) -> list[Path]:
    return sorted(directory.glob("step-*.npz"), reverse=True)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
