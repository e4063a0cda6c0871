"""The whole way through on toy languages: run, kill -9, resume, and then nothing."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.artifacts.manifest import FILE_NAME
from models.nmt.sizes import LADDER
from pipeline.experiment import find, load
from pipeline.steps import VERBS

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("tensorflow", "keras", "apache_beam")
SIZES = [shape.name for shape in LADDER[:5]]
TINY = f"""\
name: tiny
cohort: en-xx
tasks: [en-de, en-fr]
ingest:
  synthetic: {{train_sentences: 2000, test_sentences: 100}}
  test_sentences: 100
select: {{keep: 0.8}}
tokenize: {{vocabulary_size: 300, source_length: 48, target_length: 48}}
train:
  sizes: [{", ".join(SIZES)}]
  mixtures: [0.1, 0.3, 0.9]
  batch_tokens: 192
  steps: 40
  warmup_steps: 10
  checkpoint_seconds: 0
  jit: "off"
fit:
  draws: 100
  held_out: {{sizes: [{SIZES[-1]}], mixtures: [0.3]}}
"""

pytestmark = pytest.mark.slow


def start(experiment: Path, workdir: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "pipeline", "run", str(experiment)]
    command += ["--workdir", str(workdir), "--jobs", "1", *options]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> tuple[str, str]:
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    return out, err


def kill_when(process: subprocess.Popen, happened) -> None:
    """``kill -9`` once ``happened()`` is true; waits until its workers noticed."""
    deadline = time.monotonic() + 200
    while not happened():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def manifests(workdir: Path) -> dict[str, tuple[int, str]]:
    """Modification time and text of every manifest of a run."""
    return {
        str(path.relative_to(workdir)): (path.stat().st_mtime_ns, path.read_text())
        for path in sorted(workdir.rglob(FILE_NAME))
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.yaml").write_text(TINY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(place):
    """A run that was killed twice, and then left to finish."""
    workdir = place / "work"
    process = start(place / "tiny.yaml", workdir)
    kill_when(process, lambda: (workdir / "ingest" / FILE_NAME).is_file())
    process = start(place / "tiny.yaml", workdir)
    kill_when(process, lambda: any(workdir.glob(f"train/*/{FILE_NAME}")))
    before = manifests(workdir)
    out, err = finish(start(place / "tiny.yaml", workdir))
    return workdir, before, out, err


def test_it_goes_on_from_where_it_was_killed(finished):
    workdir, before, _, _ = finished
    after = manifests(workdir)
    assert "tokenize/manifest.json" in before
    assert "evaluate/manifest.json" not in before
    assert {name: after[name] for name in before} == before
    assert set(VERBS) <= {name.split("/")[0] for name in after}


def test_every_trial_is_measured(finished, place):
    workdir, *_ = finished
    with open(workdir / "evaluate" / "metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    final = {(r["trial"], r["task"]) for r in rows if r["loss_kind"] == "final"}
    trials = load(find(place / "tiny.yaml")).trials
    assert final == {(t.id, task) for t in trials for task in ("en-de", "en-fr")}
    assert all(0 < float(row["loss"]) < 10 for row in rows)


def test_the_last_lines_compare_predictions_with_measurements(finished):
    workdir, _, out, _ = finished
    lines = out.splitlines()
    assert lines[-1] == f"report: {workdir}/report/index.html"
    assert (workdir / "report" / "index.html").is_file()
    with open(workdir / "fit" / "held_out.csv", encoding="utf-8") as file:
        held_out = list(csv.DictReader(file))
    for row in held_out:
        start_of_line = f"  {row['trial']} {row['task']} in_domain"
        assert any(line.startswith(start_of_line) for line in lines)
    assert {row["kind"] for row in held_out} == {"size", "mixture"}


def test_the_summary_is_for_programs(finished):
    workdir, *_ = finished
    path = workdir / "report" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    assert summary["trials"] == {"done": 15, "failed": 0}
    assert set(summary["r2"]["joint"]) == {"en-de", "en-fr"}
    assert summary["held_out"]["size"]["n_points"] > 0
    assert set(VERBS) - {"report"} <= set(summary["seconds"])


def test_once_more_does_nothing_and_loads_no_engine(finished, place):
    workdir, *_ = finished
    before = manifests(workdir)
    code = (
        "import sys\n"
        "from pipeline.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "print('loaded:', *{name.partition('.')[0] for name in sys.modules})\n"
        "sys.exit(status)\n"
    )
    command = ["run", str(place / "tiny.yaml"), "--workdir", str(workdir)]
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert manifests(workdir) == before
    *_, loaded = done.stdout.splitlines()
    assert not set(loaded.split()) & set(ENGINES)


def test_a_changed_option_redoes_only_what_depends_on_it(finished, place):
    workdir, *_ = finished
    before = manifests(workdir)
    finish(start(place / "tiny.yaml", workdir, "--set", "fit.draws=50"))
    after = manifests(workdir)
    changed = {name.split("/")[0] for name in after if after[name] != before.get(name)}
    assert changed == {"fit", "recommend", "report"}
