"""A worker process of Beam that says only what matters and ends with its parent.

Beam's own command writes a dozen lines about its channels to stderr, and works on for
seconds when the main process is killed. Nothing of Beam may be imported before the
log is set up: Beam writes to it, which would set it up.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import time

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PARENT = "POLYSCALE_BEAM_PARENT"  # environment variable: process of the runner
_HINTS = (
    # BigQuery is not installed; a worker on this machine has no folder of a container.
    "apitools not found",
    "No semi_persistent_directory found",
    # The main process says it in one line.
    *(f"[Errno {number}]" for number in NO_ROOM),
)


class WithoutHints(logging.Filter):
    """Drops what Beam remarks although nothing is wrong, and its traceback of a full
    disk."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        return not any(hint in text for hint in _HINTS)


def end_with(parent: int) -> None:
    """Ends this process as soon as it has another parent: its own was killed."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


def main() -> None:
    """Works until the runner has no more work."""
    parent = int(os.environ[PARENT])
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(WithoutHints())
    logging.getLogger().addHandler(handler)
    # Beam prints every error that it logs; the handler has the real one.
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
