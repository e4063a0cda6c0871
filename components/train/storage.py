"""Room and permission to write a sweep, checked before it begins."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from components.artifacts.manifest import write_atomically
from components.artifacts.token_index import TokenIndex
from components.train.config import KEPT_CHECKPOINTS, Config
from components.train.curves import evaluation_steps
from components.train.group import Group
from models.errors import UserError
from models.nmt.sizes import count_parameters, get_shape

_FLOAT = 4


def check(
    output: Path,
    config: Config,
    groups: Iterable[Group],
    *,
    index: TokenIndex,
    jobs: int,
) -> None:
    """Raises ``UserError`` unless the sweep can be written to ``output``.

    Args:
      output: The folder of all trials; it is made.
      config: How they are trained.
      groups: What is still to train.
      index: Of the artifact of ``tokenize``.
      jobs: Groups that train at once.
    """
    probe = output / f".probe.{os.getpid()}"
    try:
        output.mkdir(parents=True, exist_ok=True)
        write_atomically(probe, "a sweep can be written here\n")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"{output}: cannot be written to: {error.strerror}; choose another "
            "--workdir"
        ) from None
    needed = {
        "checkpoints": _checkpoint_bytes(config, groups, index, jobs),
        "trained weights": _weight_bytes(config, groups, index),
    }
    free = shutil.disk_usage(output).free
    if free < sum(needed.values()):
        parts = ", ".join(f"{_size(size)} {name}" for name, size in needed.items())
        raise UserError(
            f"{output}: {_size(free)} free, the sweep needs about "
            f"{_size(sum(needed.values()))} ({parts}); make room, or choose another "
            "--workdir"
        )


def _checkpoint_bytes(
    config: Config, groups: Iterable[Group], index: TokenIndex, jobs: int
) -> int:
    """Of the largest groups that train at once: those kept, and one being written."""
    copies = 1 + (config.ema_decay > 0) + (config.momentum > 0)
    largest = sorted((_parameters(group, index) for group in groups), reverse=True)
    return sum(largest[:jobs]) * _FLOAT * copies * (KEPT_CHECKPOINTS + 1)


def _weight_bytes(config: Config, groups: Iterable[Group], index: TokenIndex) -> int:
    """Of every trial, those it ends with and, where they are kept, of evaluations."""

    def copies(group: Group) -> int:
        kept = evaluation_steps(config, config.steps_of(group.size))
        return 1 + (len(kept) if config.keep_weights else 0)

    return _FLOAT * sum(_parameters(group, index) * copies(group) for group in groups)


def _parameters(group: Group, index: TokenIndex) -> int:
    count = count_parameters(get_shape(group.size), index.vocabulary_size)
    return count.total * len(group.trials)


def _size(count: float) -> str:
    """``1.2 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
