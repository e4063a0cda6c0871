"""A worker process of Beam that says only what matters.

Beam's own command writes a dozen lines about its channels to stderr. This one is the
same, with a log that has warnings and nothing below. Nothing of Beam may be imported
before the log is set up: Beam writes to it, which would set it up.
"""

from __future__ import annotations

import logging
import sys

from components.beam_runner import WithoutHints


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
