"""What every test relies on."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

# Before anything imports TensorFlow: no device chatter, no GPU that a test could
# depend on, and two tests of one machine do not fight over its cores.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_progress_of_another_test() -> None:
    """The command line sets up logging for its process; a test is not its process."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if type(handler).__module__ == "pipeline.cli":
            root.removeHandler(handler)
