"""What every test relies on."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
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


_PRODUCT = """
import tensorflow as tf
tf.matmul(tf.ones((64, 32), tf.bfloat16), tf.ones((32, 48), tf.bfloat16))
"""


@pytest.fixture(scope="session")
def bfloat16_works() -> bool:
    """Whether TensorFlow can multiply in bfloat16 with these settings of oneDNN.

    TensorFlow 2.21 asks the processor for bfloat16, not oneDNN: on one with AMX, under
    ``ONEDNN_MAX_CPU_ISA=AVX2``, its own bfloat16 product ends in a segmentation fault.
    """
    if not os.environ.get("ONEDNN_MAX_CPU_ISA"):
        return True
    done = subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True)
    return done.returncode == 0


@pytest.fixture
def bfloat16(bfloat16_works: bool) -> None:
    """Skips where TensorFlow itself crashes in bfloat16."""
    if not bfloat16_works:
        pytest.skip("TensorFlow crashes in bfloat16 under ONEDNN_MAX_CPU_ISA")
