"""The same losses on one device and on two, in parts, under XLA, and on two workers."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from components.engines import strategy
from components.train.config import Config
from models.errors import FieldError, UserError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]

# Logical devices must be made before TensorFlow starts: a process of its own. In it
# every arrangement of the same training, one after the other.
SCRIPT = """
import json, sys
import tensorflow as tf
arrangements = json.loads(sys.argv[1])
if any(one["strategy"] == "mirrored" for one in arrangements):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
from components.engines import strategy
strategy.build(arrangements[0]["strategy"])  # a cluster must be joined first of all
import numpy as np
from components.train import mixture
from components.train.config import Config
from components.train.model_stack import ModelStack
from models.nmt.sizes import get_shape
from tests.components.train.sweep_data import sweep_data

data = sweep_data()
for arrangement in arrangements:
    config = Config(sizes=("2k",), mixtures=(0.3,), warmup_steps=10, ema_decay=0.9,
                    steps=20, **arrangement)
    program = ModelStack(config, get_shape("2k"), data.vocabulary_size, [0, 1])
    replicas = 1 if arrangement["strategy"] == "default" else 2
    assert program.strategy.num_replicas_in_sync == replicas
    batches = mixture.batches(
        data.rows, np.array([[0.3, 0.7], [0.8, 0.2]]), np.array([0, 1]), batch_rows=6,
        steps_per_execution=5, start_step=0, stop_step=10,
        drawn=np.zeros((2, 2), np.int64))
    # What a TPU demands: every shape of what the step is given is known beforehand.
    assert all(spec.shape.is_fully_defined() for spec in batches.element_spec[0])
    losses = [program.train(fields).tolist() for fields, _ in batches]
    losses += [one.loss.tolist() for one in program.evaluate(data.test_sets)]
    print(json.dumps(losses), flush=True)
    assert program.agree(True) and not program.agree(False)
"""


def start(*arrangements, **environment):
    arrangements = [{"strategy": "default", "jit": "off"} | one for one in arrangements]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(arrangements)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        | environment,
    )


def losses(process):
    """One flat list of numbers for each arrangement."""
    output, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors[-3000:]
    found = [json.loads(line) for line in output.splitlines() if line.startswith("[[")]
    return [[loss for step in one for loss in step] for one in found]


@pytest.fixture(scope="module")
def arranged(bfloat16_works):
    names = ("one", "two", "parts", "two_in_parts", "xla", "xla_in_parts")
    half = [{"precision": "mixed_bfloat16"}] if bfloat16_works else []
    names += ("half",) * len(half)
    process = start(
        {},
        {"strategy": "mirrored"},
        # 6 rows of 12 tokens: three parts of two rows.
        {"micro_batch_tokens": 30},
        # 3 rows on each device: three parts.
        {"strategy": "mirrored", "micro_batch_tokens": 15},
        {"jit": "on"},
        {"jit": "on", "micro_batch_tokens": 30},
        *half,
    )
    return dict(zip(names, losses(process), strict=True))


# A few steps: rounding differs with the order of sums, and training amplifies it.
def test_two_devices_give_the_losses_of_one(arranged):
    assert len(arranged["one"]) == 8
    assert arranged["two"] == pytest.approx(arranged["one"], rel=1e-5)


def test_a_batch_in_parts_gives_the_losses_of_the_whole(arranged):
    assert arranged["parts"] == pytest.approx(arranged["one"], rel=1e-5)
    assert arranged["two_in_parts"] == pytest.approx(arranged["one"], rel=1e-5)


def test_xla_compiles_the_step_and_agrees(arranged):
    assert arranged["xla"] == pytest.approx(arranged["one"], rel=1e-4)
    assert arranged["xla_in_parts"] == pytest.approx(arranged["one"], rel=1e-4)


@pytest.mark.usefixtures("bfloat16")
def test_mixed_precision_learns_the_same(arranged):
    """8 bits of mantissa in products; weights and updates stay in float32."""
    assert arranged["half"] == pytest.approx(arranged["one"], rel=0.01)
    assert arranged["half"] != pytest.approx(arranged["one"], rel=1e-5)


def free_ports(count):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_two_worker_processes_give_the_losses_of_one_device(arranged):
    machines = {"worker": [f"localhost:{port}" for port in free_ports(2)]}
    processes = [
        start(
            {"strategy": "multi_worker"},
            TF_CONFIG=json.dumps(
                {"cluster": machines, "task": {"type": "worker", "index": index}}
            ),
        )
        for index in range(2)
    ]
    for process in processes:
        (found,) = losses(process)
        assert found == pytest.approx(arranged["one"], rel=1e-5)


def test_a_tpu_that_does_not_answer_is_said(monkeypatch):
    from components.engines import strategy

    monkeypatch.setenv("TPU_NAME", "grpc://localhost:1")
    monkeypatch.setattr(
        "tensorflow.distribute.cluster_resolver.TPUClusterResolver.connect",
        refuse,
    )
    with pytest.raises(UserError, match="TPU 'grpc://localhost:1' does not answer: no"):
        strategy.build("tpu")


def refuse(address):
    raise ValueError(f"no {address}")


def test_what_xla_compiles(monkeypatch):
    for devices, compiled in (["GPU:0"], True), ([], False):
        monkeypatch.setattr(
            "tensorflow.config.list_physical_devices", lambda kind, d=devices: d
        )
        assert strategy.compiles_step("auto", "default") is compiled
        assert strategy.compiles_step("on", "default")
        assert not strategy.compiles_step("off", "default")
        assert not strategy.compiles_step("auto", "mirrored")
        assert not strategy.compiles_step("auto", "tpu")


@pytest.mark.parametrize("several", ["mirrored", "multi_worker"])
def test_xla_for_variables_on_several_devices_is_refused(several):
    with pytest.raises(FieldError, match=f"on cannot be had with strategy: {several}"):
        Config(sizes=("2k",), mixtures=(0.5,), strategy=several, jit="on")
