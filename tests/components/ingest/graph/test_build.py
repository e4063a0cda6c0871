"""Several worker processes, and a process that is killed: the bytes are the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components import ingest
from components.artifacts.manifest import load
from components.ingest.config import TextTask
from components.ingest.duplicates.config import Duplicates
from tests.components.parallel_text import TASKS, a_config, all_bytes, write

ROOT = Path(__file__).resolve().parents[4]
LINES = 12_000


def config(**options) -> ingest.Config:
    text = {task: TextTask(f"{task}.1", f"{task}.2") for task in TASKS}
    return a_config(
        text=text, duplicates=Duplicates(same="pair", similarity=0.9), **options
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two tasks of several batches each, and what one process makes of them."""
    base = tmp_path_factory.mktemp("processes")
    rng = random.Random(12)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    for task in TASKS:
        sources = [
            " ".join(rng.choices(words, k=rng.randint(2, 5))) for _ in range(LINES)
        ]
        # The same but for case: equivalent, and near-duplicates too.
        sources += [source.upper() for source in sources[: LINES // 20]]
        targets = [" ".join(reversed(source.split())) for source in sources]
        write(base / f"{task}.1", sources)
        write(base / f"{task}.2", targets)
    ingest.run(config(), base=base, tasks=TASKS, output=base / "ingest")
    return base


def test_worker_processes_change_nothing_and_say_nothing(made, tmp_path, capfd):
    options = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")
    output = tmp_path / "ingest"
    ingest.run(config(beam_options=options), base=made, tasks=TASKS, output=output)
    assert all_bytes(output) == all_bytes(made / "ingest")
    rejected = load(output).counts[TASKS[0]]["rejected"]
    assert rejected["equivalent"] >= LINES // 20
    assert "INFO" not in capfd.readouterr().err


@pytest.mark.parametrize("moment", ["*", "*/*.jsonl.gz*"])
def test_killed_and_run_again_gives_the_same_bytes(made, tmp_path, moment):
    output = tmp_path / "ingest"
    code = (
        "from pathlib import Path\n"
        "from components import ingest\n"
        "from tests.components.ingest.graph.test_build import TASKS, config\n"
        f"ingest.run(config(), base=Path({str(made)!r}), tasks=TASKS, "
        f"output=Path({str(output)!r}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    unfinished = tmp_path / ".ingest.tmp"
    try:
        while not any(unfinished.glob(moment)):
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert not output.exists()
    assert unfinished.is_dir()
    ingest.run(config(), base=made, tasks=TASKS, output=output)
    assert all_bytes(output) == all_bytes(made / "ingest")
    assert [path.name for path in tmp_path.iterdir()] == ["ingest"]
