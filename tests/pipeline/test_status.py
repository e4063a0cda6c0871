"""How far a run has come, told from its folder."""

from __future__ import annotations

import fcntl
import json

import pytest

from components.artifacts import manifest
from pipeline import cli
from pipeline.local_runner import LOCK, LOG
from pipeline.status import status


@pytest.fixture
def run(tmp_path):
    """A run that is training."""
    for place in ("ingest", "tokenize", "train/one", "train/two"):
        manifest.complete(
            place.partition("/")[0], tmp_path / place, config={}, inputs={},
            make=lambda _: {},
        )  # fmt: skip
    (tmp_path / LOG).write_text("".join(f"line {k}\n" for k in range(9)))
    return tmp_path


def test_steps_trials_process_and_log_are_told(run, capsys):
    found = status(run)
    states = {step.verb: step.state for step in found.steps}
    assert states["ingest"] == states["tokenize"] == "done"
    assert (states["train"], states["evaluate"]) == ("begun", "open")
    assert {step.verb: step.trials for step in found.steps}["train"] == 2
    assert found.process is None and found.log[-1] == "line 8"
    with open(run / LOCK, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        assert status(run).process == 4711
        assert cli.main(["status", str(run)]) == 0
    text = capsys.readouterr().out
    assert "process 4711 is working there" in text and "2 trials trained" in text
    assert cli.main(["status", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["process"] is None


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert cli.main(["status", str(tmp_path)]) == 2
    assert "no run; expected the folder of one" in capsys.readouterr().err
