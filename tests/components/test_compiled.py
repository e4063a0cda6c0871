"""Compiled programs are kept, read back, and a damaged one is forgotten."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from components import compiled

PROGRAM = """
import sys
from pathlib import Path
from components import compiled
folder = compiled.keep_in(Path(sys.argv[1]))
from components.tensorflow_start import start_tensorflow
start_tensorflow()
import tensorflow as tf

for _ in range(int(sys.argv[2])):
    tf.function(lambda x: x + 1, autograph=False)(tf.constant(1.0))
compiled.number_from(1)
x = tf.constant([[0.5, 1.5], [2.5, 3.5]])
try:
    f = tf.function(lambda x: tf.tanh(x @ x), jit_compile=True, autograph=False)
    print(f(x).numpy())
except tf.errors.OpError:
    compiled.forget(folder)
    sys.exit(7)
"""


def run(folder: Path, made_before: int = 1) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(made_before)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_is_compiled_once(tmp_path):
    folder = tmp_path / "a folder"
    first = run(folder)
    assert first.returncode == 0, first.stderr
    (program,) = folder.glob("*/*.pb")
    written = program.stat().st_mtime_ns
    # Functions have numbers in their names, and this process has made some before.
    again = run(folder, made_before=4)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert again.stderr == "", "reading a program must say nothing"
    assert list(folder.glob("*/*.pb")) == [program]
    assert program.stat().st_mtime_ns == written
    # Read indeed, and not compiled anew: half of it does not run.
    program.write_bytes(program.read_bytes()[: program.stat().st_size // 2])
    assert run(folder).returncode == 7
    assert not list(folder.glob("*/*.pb"))
    recovered = run(folder)
    assert (recovered.returncode, recovered.stdout) == (0, first.stdout)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("TF_XLA_FLAGS", raising=False)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")


def test_own_flags_are_kept_and_machines_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_max_cluster_size=9")
    here = compiled.keep_in(tmp_path)
    first, second, _ = os.environ["TF_XLA_FLAGS"].split()
    assert first == "--tf_xla_max_cluster_size=9"
    assert second == f'--tf_xla_persistent_cache_directory="{here}"'
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "1", "somebody wants to see more"
    monkeypatch.setattr(compiled.platform, "machine", lambda: "another")
    assert compiled.keep_in(tmp_path) != here
