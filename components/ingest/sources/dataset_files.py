"""The files that say which data a dataset is; imports no engine.

A dataset is known by its name, which may stand for other data tomorrow. What its
library wrote when it prepared it (sizes, checksums, a fingerprint) tells.
"""

from __future__ import annotations

import os
from pathlib import Path

_TFDS_INFO = "dataset_info.json"
SAVED = ("dataset_info.json", "dataset_dict.json", "state.json")


def is_prepared(path: Path) -> bool:
    """Whether a folder is one version of a dataset of TensorFlow Datasets."""
    return (path / _TFDS_INFO).is_file()


def of_tfds(name: str, folder: str | None) -> list[str]:
    """All prepared versions of a dataset of TensorFlow Datasets.

    Args:
      name: Its name, such as ``wmt19_translate/de-en``, or its own folder.
      folder: Where the library keeps its data, if not in its usual place.
    """
    if is_prepared(Path(name)):
        return _found(Path(name), _TFDS_INFO)
    usual = Path.home() / "tensorflow_datasets"
    root = Path(folder or os.environ.get("TFDS_DATA_DIR") or usual)
    return _found(root / name.partition(":")[0], _TFDS_INFO)


def of_hugging_face(name: str) -> list[str]:
    """A dataset saved to a folder; of others the revision says which they are."""
    return [file for info in SAVED for file in _found(Path(name), info)]


def _found(folder: Path, name: str) -> list[str]:
    return sorted(str(path) for path in folder.rglob(name)) if folder.is_dir() else []
