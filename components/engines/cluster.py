"""Which machines a strategy runs on, as the environment describes them.

Nothing here starts an engine: a sweep is refused before it begins when the
environment does not have what its strategy needs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from models.errors import UserError

# What Cloud TPU VMs, GKE and Vertex set where there is a TPU.
TPU_VARIABLES = (
    "TPU_NAME",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
    "TPU_ACCELERATOR_TYPE",
    "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
)
_BEAT_SECONDS = 5.0
_POLL_SECONDS = 0.2
# So long may a chief take to start after another worker, or stall, before it counts as
# dead.
SILENCE_SECONDS = 300.0
_TPU_DEVICES = ("/dev/accel0", "/dev/vfio/0")


@dataclasses.dataclass(frozen=True)
class Member:
    """This process among the workers of a cluster.

    Attributes:
      kind, index: ``worker`` 1, say.
      workers: Processes that train together.
    """

    kind: str
    index: int
    workers: int

    @property
    def is_chief(self) -> bool:
        """Whether this is the one that writes: the chief, or else worker 0."""
        return self.kind == "chief" or (self.kind, self.index) == ("worker", 0)

    @property
    def name(self) -> str:
        """``worker-1``."""
        return f"{self.kind}-{self.index}"


ALONE = Member("worker", 0, 1)


def member(strategy: str) -> Member:
    """This process in the cluster of a strategy.

    Raises:
      UserError: The strategy needs a description that is missing or unusable.
    """
    if strategy != "multi_worker":
        return ALONE
    text = os.environ.get("TF_CONFIG", "")
    example = (
        'expected, for example, {"cluster": {"worker": ["host0:2222", "host1:2222"]}, '
        '"task": {"type": "worker", "index": 0}}'
    )
    if not text:
        raise UserError(
            f"train.strategy: multi_worker, and TF_CONFIG is not set; {example}"
        )
    try:
        described = json.loads(text)
        return _member(described["cluster"], described["task"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(
            f"TF_CONFIG: cannot be used ({type(error).__name__}: {error}); {example}"
        ) from None


def _member(machines: Mapping[str, list[str]], task: Mapping[str, Any]) -> Member:
    kind, index = task["type"], int(task["index"])
    machines[kind][index]  # the task is one of the cluster's
    workers = len(machines.get("chief", ())) + len(machines.get("worker", ()))
    # With a chief of its own, worker 0 is a worker like the others.
    if "chief" in machines and kind == "worker":
        index += 1
    return Member(kind, index, workers)


def check(strategy: str) -> None:
    """Raises ``UserError`` when the environment lacks what a strategy needs."""
    member(strategy)
    if strategy == "tpu" and not has_tpu():
        raise UserError(
            "train.strategy: tpu, and there is none: neither a TPU device nor any of "
            f"{', '.join(TPU_VARIABLES)} is there; run on a TPU VM, or set TPU_NAME"
        )


def has_tpu() -> bool:
    """Whether the environment names a TPU or this machine has one."""
    named = any(os.environ.get(name) for name in TPU_VARIABLES)
    return named or any(Path(device).exists() for device in _TPU_DEVICES)


@contextlib.contextmanager
def heartbeat(path: Path) -> Iterator[None]:
    """Touches a file every few seconds while the block runs: the chief is alive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ended = threading.Event()

    def beat() -> None:
        while True:
            with contextlib.suppress(OSError):
                path.touch()
            if ended.wait(_BEAT_SECONDS):
                return

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        path.unlink(missing_ok=True)


def wait_for_chief(is_ready: Callable[[], bool], path: Path) -> None:
    """Waits until the chief has written something, as long as the chief is alive.

    Only whether the heartbeat changes counts, so the machines' clocks may differ.

    Args:
      is_ready: Whether what is waited for is there.
      path: The file that the chief's `heartbeat` touches.

    Raises:
      UserError: The chief was silent for `SILENCE_SECONDS`.
    """
    last, heard = _modified(path), time.monotonic()
    while not is_ready():
        time.sleep(_POLL_SECONDS)
        now = _modified(path)
        if now != last:
            last, heard = now, time.monotonic()
        elif time.monotonic() - heard > SILENCE_SECONDS:
            raise UserError(
                f"train: the chief has not written {path} for {SILENCE_SECONDS:.0f} s; "
                "it has died, or sees another folder: start all workers again with "
                "the same command and the same --workdir"
            )


def _modified(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
