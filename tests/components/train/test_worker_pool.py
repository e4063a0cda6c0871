"""What the parent makes of what its workers say, without starting any."""

import dataclasses
import logging
import multiprocessing

import pytest

from components.artifacts.trial import Trial
from components.engines.preemption import Preempted
from components.train import worker_pool
from components.train.config import Config
from components.train.group import form_groups
from components.train.stopwatch import COMPILATION, TRAINING, Stopwatch
from components.train.worker import Assignment, _described
from models.errors import UserError

CONFIG = Config(sizes=("2k",), mixtures=(0.3,), steps=40, warmup_steps=10, stack=1)
GROUPS = form_groups(
    CONFIG,
    [Trial("en-xx", "2k", (("en-de", p), ("en-fr", 1 - p))) for p in (0.3, 0.6)],
)


class Process:
    """A process that has ended with a status."""

    exitcode = -15

    def join(self, timeout=None):
        pass

    terminate = kill = join


class Script:
    """Stands for ``worker_pool._start``: each worker says the next of some scripts, and
    its end of the pipe is closed after it, as by a process that ends."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.given = []

    def __call__(self, assignment, group):
        ours, theirs = multiprocessing.Pipe()
        self.given.append(group)
        for message in self.scripts.pop(0):
            theirs.send(message)
        theirs.close()
        return worker_pool._Worker(Process(), ours, group)


def train(monkeypatch, *scripts, strategy="default"):
    """Trains both groups; who got which group, and what came of it."""
    script = Script(*scripts)
    monkeypatch.setattr(worker_pool, "_start", script)
    config = dataclasses.replace(CONFIG, strategy=strategy)
    places = [None] * 3
    assignment = Assignment(config, ("en-de", "en-fr"), *places, threads=1)
    done, crashed, steps = [], [], []
    events = worker_pool.Events(
        on_step=lambda group, step, total: steps.append((group, step, total)),
        on_done=done.append,
        on_crash=lambda group, how: crashed.append((group, how)),
    )
    worker_pool.train_all(assignment, GROUPS, 1, events)
    assert script.scripts == []
    return script.given, done, crashed, steps


FIRST, SECOND = GROUPS


def test_a_worker_that_was_told_to_stop_alone_costs_no_attempt(monkeypatch):
    told = [("step", 10, 40), ("preempted",)]
    given, done, crashed, steps = train(
        monkeypatch, told, told, told, [("done",)], [("done",)]
    )
    assert given == [FIRST] * 4 + [SECOND]
    assert done == [FIRST, SECOND] and crashed == []
    assert steps == [(FIRST, 10, 40)] * 3


def test_of_a_cluster_all_stop_when_one_is_told_to(monkeypatch):
    with pytest.raises(Preempted, match="another worker was stopped"):
        train(monkeypatch, [("preempted",)], strategy="multi_worker")


def test_what_a_worker_raised_is_the_reason_of_the_crash(monkeypatch, caplog):
    raised = [("error", "raised ResourceExhaustedError: no memory")]
    given, done, crashed, _ = train(monkeypatch, raised, raised, [("done",)])
    assert given == [FIRST, FIRST, SECOND] and done == [SECOND]
    ((group, how),) = crashed
    assert group is FIRST
    assert how == (
        "its worker process raised ResourceExhaustedError: no memory, 2 times"
    )
    assert "its 1 trials go on in a new one" in caplog.text


def test_a_reason_is_one_line():
    error = RuntimeError("Graph execution error:\n\nDetected at node " + "while/" * 500)
    text = _described(error)
    assert text.startswith("raised RuntimeError: Graph execution error: Detected at ")
    assert "\n" not in text and text.endswith(" ...") and len(text) < 400
    assert _described(ValueError("no\nmemory")) == "raised ValueError: no memory"


def test_a_mistake_of_the_person_ends_the_sweep(monkeypatch):
    with pytest.raises(UserError, match="batch_tokens: too few"):
        train(monkeypatch, [("user_error", "batch_tokens: too few")])


def test_what_workers_log_is_logged_here(monkeypatch, caplog):
    line = ("log", "components.train.trainer", logging.INFO, "resumed at step 100%")
    with caplog.at_level(logging.INFO):
        train(monkeypatch, [line, ("done",)], [("done",)])
    assert ("components.train.trainer", logging.INFO, "resumed at step 100%") in (
        caplog.record_tuples
    )


def test_the_first_call_beyond_a_usual_one_is_compilation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(
        "components.train.stopwatch.time.monotonic", lambda: now[0], raising=True
    )
    stopwatch = Stopwatch({TRAINING: 100.0, COMPILATION: 7.0})
    for seconds in (5.0, 1.0, 2.0, 1.0):
        with stopwatch.measure(TRAINING):
            now[0] += seconds
    found = stopwatch.seconds()
    assert stopwatch.call_seconds() == 1.0
    assert found[COMPILATION] == pytest.approx(7 + 4)
    assert found[TRAINING] == pytest.approx(100 + 5)
    assert stopwatch.total() == pytest.approx(sum(found.values())) == 116
