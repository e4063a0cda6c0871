"""A whole sweep in worker processes: killed, crashed, continued."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from components.artifacts import checkpoints, manifest, metrics_table
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import CURVE, WEIGHTS, TrialRecord
from components.train import run, sweep, worker_pool
from components.train.config import Config
from tests.components.train.token_files import write_tokens

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]

CONFIG = Config(
    sizes=("2k",),
    mixtures=(0.3, 0.8),
    steps=200,
    steps_per_execution=5,
    batch_tokens=60,
    warmup_steps=10,
    evaluations=3,
    stack=1,
    checkpoint_seconds=0,
    # All that has a state of its own, or draws numbers.
    momentum=0.9,
    dropout=0.1,
    label_smoothing=0.1,
    ema_decay=0.9,
    micro_batch_tokens=24,
)
FIRST, SECOND = (
    Trial("en-xx", "2k", (("en-de", p), ("en-fr", 1 - p)), 0) for p in (0.3, 0.8)
)


def train(tokens, output):
    trials = (FIRST, SECOND)
    return run(CONFIG, trials=trials, tokens=tokens, output=output, jobs=1)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tokens"
    write_tokens(folder)
    return folder


@pytest.fixture(scope="module")
def uninterrupted(tokens, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "train"
    return output, train(tokens, output)


class Killing(sweep.Progress):
    """Kills the worker at given steps of a trial, each once."""

    signals: dict[tuple[str, int], int] = {}

    def step(self, group, step, steps):
        number = self.signals.pop((group.trials[0].id, step), None)
        if number:
            (worker,) = multiprocessing.active_children()
            os.kill(worker.pid, number)
        return super().step(group, step, steps)


def second_one_dies(start):
    """Starts workers, the second of which is killed at once."""
    started = []

    def start_one(*arguments):
        started.append(start(*arguments))
        if len(started) == 2:
            started[1].process.kill()
            started[1].process.join()
        return started[-1]

    return start_one


def assert_same(output, other, trial):
    """Weights and curve, bit by bit."""
    found, _ = checkpoints.load(output / trial.id / WEIGHTS)
    expected, _ = checkpoints.load(other / trial.id / WEIGHTS)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])
    curves = [
        metrics_table.load(folder / trial.id / CURVE) for folder in (output, other)
    ]
    assert curves[0] == curves[1] and len(curves[0]) > 4


def test_a_whole_sweep(uninterrupted):
    output, made = uninterrupted
    assert made.counts["trials"] == 2
    assert (made.counts["failed"], made.counts["crashed"]) == (0, 0)
    assert not (output / ".progress").exists()
    record = TrialRecord.load(output / FIRST.id)
    assert record.status == "done" and record.step == 200
    assert record.realised_example_share["en-de"] == pytest.approx(0.3, abs=0.1)
    phases = record.seconds_by_phase
    assert set(phases) == {
        "start_up", "compilation", "training", "evaluation", "checkpoints"
    }  # fmt: skip
    assert all(seconds > 0 for seconds in phases.values())
    assert record.seconds == pytest.approx(sum(phases.values()), abs=0.01)
    curve = metrics_table.load(output / FIRST.id / CURVE)
    losses = {row.step: row.loss for row in curve if row.task == "en-de"}
    best = record.best["en-de/in_domain"]
    assert losses[best.step] == best.loss == min(losses.values())


EXPERIMENT = """\
name: tiny
cohort: en-xx
tasks: [en-de, en-fr]
train:
  sizes: [2k]
  mixtures: [0.3, 0.8]
  steps: 200
  steps_per_execution: 5
  batch_tokens: 60
  warmup_steps: 10
  evaluations: 3
  stack: 1
  checkpoint_seconds: 0
  momentum: 0.9
  dropout: 0.1
  label_smoothing: 0.1
  ema_decay: 0.9
  micro_batch_tokens: 24
fit: {single_size: true}
"""


def terminated_command(folder):
    """`polyscale train`, told to stop once it has saved; how it ended."""
    (folder / "tiny.yaml").write_text(EXPERIMENT)
    command = [sys.executable, "-m", "pipeline", "train", str(folder / "tiny.yaml")]
    process = subprocess.Popen(
        [*command, "--workdir", str(folder)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(10_000):
        if process.poll() is not None or list(folder.glob("train/.progress/*/*/step*")):
            break
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_stopped_killed_and_crashed_it_ends_as_if_nothing_had_happened(
    uninterrupted, tokens, tmp_path, monkeypatch, caplog
):
    output = tmp_path / "train"
    shutil.copytree(tokens, tmp_path / "tokenize")
    status, errors = terminated_command(tmp_path)
    assert status == 75, errors
    assert "stopped by SIGTERM; training is saved" in errors
    assert "Traceback" not in errors
    assert list(output.glob(".progress/*/*/step-*.npz"))
    assert not list(output.glob(".progress/*/*/.step*"))

    # The first trial goes on, is killed, and its next worker does not even start:
    # the sweep goes on without it.
    monkeypatch.setattr(sweep, "Progress", Killing)
    Killing.signals = {(FIRST.id, 150): signal.SIGKILL}
    monkeypatch.setattr(worker_pool, "_start", second_one_dies(worker_pool._start))
    made = train(tokens, output)
    assert Killing.signals == {}
    assert (made.counts["failed"], made.counts["crashed"]) == (1, 1)
    assert_same(output, uninterrupted[0], SECOND)
    record = TrialRecord.load(output / FIRST.id)
    assert record.status == "failed"
    assert "status -9 (SIGKILL), 2 times; the last good checkpoint" in record.reason
    assert 140 <= record.step <= 155
    assert "go on in a new one" in caplog.text
    assert "the same command tries them again" in caplog.text
    assert made.key != uninterrupted[1].key

    # Only the crashed trial, from its checkpoint.
    again = train(tokens, output)
    assert again.key == uninterrupted[1].key
    assert_same(output, uninterrupted[0], FIRST)
    assert not (output / ".progress").exists()
    assert manifest.is_current(output, again.key)
