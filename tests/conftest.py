"""What every test relies on."""

from __future__ import annotations

import os
from pathlib import Path

# Before anything imports TensorFlow: no device chatter, no GPU that a test could
# depend on, and two tests of one machine do not fight over its cores.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
