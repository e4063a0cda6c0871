"""Losses and gradients are the same whatever engine Keras runs on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[4]

SCRIPT = """
import json
import keras
import numpy as np
from models.nmt.sizes import Shape
from models.nmt.transformer import Transformer

model = Transformer(Shape("tried", 2, 1, 12, 2, 6, 40), 30, stack=2)
model.build()
model.initialise([3, 4])
weights = model.trainable_variables
rng = np.random.default_rng(0)
ids = rng.integers(3, 30, (2, 3, 9)).astype("int32")
segments = np.sort(rng.integers(1, 4, ids.shape).astype("int32"), -1)
batch = (ids, segments, ids[..., ::-1].copy(), segments)

def loss(values=None):
    if values is None:
        return model.token_losses(*batch, label_smoothing=0.1).sum()
    with keras.StatelessScope(list(zip(weights, values))):
        return model.token_losses(*batch, label_smoothing=0.1).sum()

if keras.backend.backend() == "jax":
    import jax
    total, gradients = jax.value_and_grad(loss)([each.value for each in weights])
elif keras.backend.backend() == "torch":
    total = loss()
    total.backward()
    gradients = [each.value.grad.cpu() for each in weights]
else:
    import tensorflow as tf
    with tf.GradientTape() as tape:
        losses = model.token_losses(*batch, label_smoothing=0.1)
        total = tf.reduce_sum(losses)
    gradients = map(tf.convert_to_tensor, tape.gradient(total, weights))
norms = [float(np.square(np.asarray(each)).sum() ** 0.5) for each in gradients]
print(json.dumps([float(total), *norms]))
"""


def measure(backend):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_engine_agrees_with_tensorflow(backend):
    assert measure(backend) == pytest.approx(measure("tensorflow"), rel=1e-4)
