"""How many cores this process may use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Cores that the operating system lets this process use, at least 1.

    Containers and batch systems give a process fewer cores than the machine has.
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
