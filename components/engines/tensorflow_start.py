"""Starts TensorFlow without its greetings.

While it loads, TensorFlow writes about oneDNN, CUDA and CPU instructions straight to
the process's stderr, before any setting of its log level is in force. A person who
watches a sweep should see the sweep.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator


def start_tensorflow() -> None:
    """Imports TensorFlow and Keras and finds their devices, quietly.

    Call it before anything else imports TensorFlow; later calls cost nothing. If it
    fails, everything that was held back is written out.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if "tensorflow" in sys.modules:
        return
    with _stderr_held_back():
        import keras  # noqa: F401
        import tensorflow as tf

        tf.config.list_physical_devices()
    # What the two have loaded stays. To look through it for garbage, again and again,
    # took a fifth of the time in which a training step is traced.
    gc.freeze()


@contextlib.contextmanager
def _stderr_held_back() -> Iterator[None]:
    """Keeps what is written to file descriptor 2; shows it only after an error."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as kept:
        original = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(original, kept.read())
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
