"""Keeps what XLA compiles for a CPU, so that a program is compiled once a sweep.

Compiling a step takes XLA several seconds, loading the result a few tenths. All groups
of one size share a program, and so does a sweep that goes on after it was stopped.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path

_CPU_FEATURES = Path("/proc/cpuinfo")
# More than the training of a group uses; counting them off takes 20 ms.
_NUMBERS_A_SLOT = 250_000


def keep_in(folder: Path) -> Path:
    """Has XLA keep compiled programs in a folder, of this kind of machine only.

    Call it before TensorFlow starts: it reads these settings once. Programs are keyed
    by TensorFlow, written under another name and then renamed. The same code runs
    whether it was just compiled or read, so results do not depend on it.

    Args:
      folder: Need not exist.

    Returns:
      The folder of this machine's programs, for `forget`.
    """
    own = (folder / _machine()).resolve()
    own.mkdir(parents=True, exist_ok=True)
    flags = [
        os.environ.get("TF_XLA_FLAGS", ""),
        f'--tf_xla_persistent_cache_directory="{own}"',
        "--tf_xla_persistent_cache_device_types=CPU",
    ]
    os.environ["TF_XLA_FLAGS"] = " ".join(filter(None, flags))
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2") == "2":
        # It reports, as errors, hints for the compiler that a CPU cannot have
        # ("prefer-no-gather"). What really fails is raised in Python, too.
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return own


def forget(folder: Path) -> None:
    """Drops what `keep_in` kept; a damaged program must not fail twice."""
    for path in folder.glob("*"):
        if path.is_file():
            path.unlink(missing_ok=True)


def number_from(slot: int) -> None:
    """Gives TensorFlow's functions the same numbers in every process.

    A kept program is found by its content and by the names of its functions, and these
    end in a number that counts whatever the process made before: a resumed trial would
    never find the program of the trial that was killed. There is no public way to name
    functions. A process that has counted past the slot just compiles anew.

    Args:
      slot: 0, 1, ...; each has a quarter of a million numbers.
    """
    from tensorflow.python.framework import ops

    while ops.uid() < (slot + 1) * _NUMBERS_A_SLOT:
        pass


def _machine() -> str:
    """Tells machines apart that cannot run each other's programs."""
    facts = [platform.machine(), _tensorflow_version()]
    if _CPU_FEATURES.is_file():
        lines = _CPU_FEATURES.read_text(encoding="utf-8", errors="replace")
        facts += sorted(
            {
                line
                for line in lines.splitlines()
                if line.startswith(("flags", "Features", "model name"))
            }
        )
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _tensorflow_version() -> str:
    """Without importing it: that takes seconds and would fix the settings."""
    for name in ("tensorflow", "tensorflow-cpu", "tensorflow-tpu", "tf-nightly"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"
