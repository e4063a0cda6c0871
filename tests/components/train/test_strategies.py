"""The same losses on one device and on two, and under XLA."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Two logical devices must be made before TensorFlow starts: a process of its own.
SCRIPT = """
import sys
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * int(sys.argv[1]),
)
import numpy as np
from tests.components.train.sweep_data import group, sweep_data
from components.train import mixture
from components.train.config import Config
from components.train.program import Program
from models.nmt.sizes import get_shape

data = sweep_data()
config = Config(sizes=("2k",), mixtures=(0.3,), strategy=sys.argv[2], jit=sys.argv[3],
                warmup_steps=10, average_decay=0.9, steps=20)
program = Program(config, get_shape("2k"), data.vocabulary_size, [0, 1])
assert program.strategy.num_replicas_in_sync == int(sys.argv[1])
batches = mixture.batches(
    data.rows, np.array([[0.3, 0.7], [0.8, 0.2]]), np.array([0, 1]), batch_rows=6,
    steps_per_call=5, start_step=0, stop_step=10, drawn=np.zeros((2, 2), np.int64))
for fields, _ in batches:
    print(*program.train(fields))
for losses in program.evaluate(data.test_sets):
    print(*losses.loss)
"""


def losses(devices, strategy, jit):
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(devices), strategy, jit],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    return [float(word) for word in finished.stdout.split()]


@pytest.fixture(scope="module")
def one_device():
    return losses(1, "default", "off")


# A few steps: rounding differs with the order of sums, and training amplifies it.
def test_two_devices_give_the_losses_of_one(one_device):
    assert losses(2, "mirrored", "off") == pytest.approx(one_device, rel=1e-5)


def test_xla_compiles_the_step_and_agrees(one_device):
    assert losses(1, "default", "on") == pytest.approx(one_device, rel=1e-4)
