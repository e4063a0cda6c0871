"""A worker process of Beam that says only what matters.

Beam's own command writes a dozen lines about its channels to stderr. This one is the
same, with a log that has warnings and nothing below. Nothing of Beam may be imported
before the log is set up: Beam writes to it, which would set it up.
"""

from __future__ import annotations

import logging
import sys

_HINTS = "apitools not found", "No semi_persistent_directory found"


class WithoutHints(logging.Filter):
    """Drops what Beam remarks although nothing is wrong: that BigQuery is not
    installed, and that a worker on this machine has no folder of a container."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        return not any(hint in text for hint in _HINTS)


def main() -> None:
    """Works until the runner has no more work."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(WithoutHints())
    logging.getLogger().addHandler(handler)
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
