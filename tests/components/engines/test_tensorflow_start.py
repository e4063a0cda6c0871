"""TensorFlow starts without a word, and with all of them when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from components.engines.tensorflow_start import _stderr_held_back

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_starts_without_greetings():
    code = (
        "from components.engines.tensorflow_start import start_tensorflow\n"
        "start_tensorflow()\n"
        "import tensorflow as tf\n"
        "print(float(tf.reduce_sum(tf.ones([3, 2]))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr
    assert done.stderr == ""


def test_what_was_held_back_is_shown_after_an_error(capfd):
    with _stderr_held_back():
        os.write(2, b"chatter\n")
    assert capfd.readouterr().err == ""
    with pytest.raises(ImportError), _stderr_held_back():
        os.write(2, b"the reason\n")
        raise ImportError
    assert capfd.readouterr().err == "the reason\n"
