"""What tests need that the project does not bring: other libraries, real text.

`make test-peers` runs them in an environment of their own, with other libraries that
compute the same (`requirements-peers.lock`). `make test` does not collect them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE_THE_PROJECT = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real parallel text: ``POLYSCALE_DATA``, or ``../shared/data``."""
    folder = Path(os.environ.get("POLYSCALE_DATA", _BESIDE_THE_PROJECT))
    if not folder.is_dir():
        pytest.skip(f"no real text at {folder}; set POLYSCALE_DATA")
    return folder
