"""The graph of ingest on other engines, as `docs/cluster.md` starts them: the same
bytes as on FnApiRunner. Needs Go for Prism, Java and Maven for Flink."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from components import ingest
from components.ingest.duplicates.config import Duplicates
from tests.components.parallel_text import TASKS, a_config, a_corpus, all_bytes

# Beam's reader threads lose their connection when a job server ends.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)
HERE = Path(__file__).resolve().parent
ENGINES = HERE.parents[3] / ".engines"
PRISM = "github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0"
JOB_SERVER = "org.apache.beam.runners.flink.FlinkJobServerDriver"
JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
PACKAGES = ("lang", "net", "nio", "time", "util", "util.concurrent")


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> Path:
    """Some text, and what FnApiRunner makes of it."""
    base = tmp_path_factory.mktemp("text")
    a_corpus(base)
    run(base, base / "expected")
    return base


def run(base: Path, output: Path, *options: str) -> dict[str, bytes]:
    config = a_config(
        beam_options=options, duplicates=Duplicates(same="either", similarity=0.8)
    )
    ingest.run(config, base=base, tasks=TASKS, output=output)
    return all_bytes(output)


def made(command: Sequence[str], result: Path, **environment: str) -> Path:
    """What a command of another tool makes, once; skips where it cannot be made."""
    if not result.exists():
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        done = subprocess.run(command, env={**os.environ, **environment})
        if done.returncode:
            pytest.skip(f"{command[0]} cannot fetch {result.name}")
    return result


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("localhost", 0))
        return server.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen) -> None:
    for _ in range(600):
        assert process.poll() is None, "it ended before it could be used"
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("localhost", port)),
        ):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing answers at port {port}")


@contextlib.contextmanager
def started(command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def java(name: str, *options: str) -> list[str]:
    """The command that starts a program of Flink or of Beam's job server."""
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    jars = ENGINES / "flink"
    pom = f"--file={HERE / 'flink_pom.xml'}"
    copy = ["mvn", "-q", "-B", pom, "dependency:copy-dependencies"]
    made([*copy, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"], jars)
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in PACKAGES]
    opened.append("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED")
    return ["java", *opened, "-cp", f"{jars}/*", name, *options]


@contextlib.contextmanager
def job_server(master: str) -> Iterator[str]:
    """The options of a pipeline that Flink runs."""
    port = free_port()
    ports = (f"--job-port={port}", "--artifact-port=0", "--expansion-port=0")
    with started(java(JOB_SERVER, f"--flink-master={master}", *ports)) as process:
        wait_for(port, process)
        yield f"--job_endpoint=localhost:{port}"


def test_prism_writes_the_same_bytes(expected, tmp_path):
    install = ["go", "install", PRISM]
    prism = made(install, ENGINES / "prism", GOBIN=str(ENGINES))
    options = "--runner=PrismRunner", f"--prism_location={prism}"
    assert run(expected, tmp_path / "ingest", *options) == all_bytes(
        expected / "expected"
    )


def test_flink_inside_the_job_server_writes_the_same_bytes(expected, tmp_path):
    with job_server("[local]") as endpoint:
        options = "--runner=PortableRunner", endpoint, "--environment_type=LOOPBACK"
        found = run(expected, tmp_path / "ingest", *options)
    assert found == all_bytes(expected / "expected")


def test_a_flink_cluster_with_workers_of_their_own_writes_the_same_bytes(
    expected, tmp_path
):
    rest, rpc, pool = free_port(), free_port(), free_port()
    shutil.copy(HERE / "flink-conf.yaml", tmp_path)
    ports = f"-Drest.port={rest}", f"-Djobmanager.rpc.port={rpc}"
    conf = "--configDir", str(tmp_path), *ports
    workers = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main"]
    folder = os.path.dirname(sys.executable)  # the pool starts what is called python
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ENGINES.parent)}
    with (
        started(java(JOB_MANAGER, *conf)) as manager,
        started(java(TASK_MANAGER, *conf)),
        started([*workers, f"--service_port={pool}"], **path) as pool_process,
        job_server(f"localhost:{rest}") as endpoint,
    ):
        wait_for(rest, manager)
        wait_for(pool, pool_process)
        while '"slots-available":2' not in overview(rest):
            time.sleep(0.5)
        found = run(
            expected,
            tmp_path / "ingest",
            "--runner=PortableRunner",
            endpoint,
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{pool}",
        )
    assert found == all_bytes(expected / "expected")


def overview(port: int) -> str:
    """What the cluster says of itself; nothing while it is starting."""
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/overview") as answer:
            return answer.read().decode()
    except OSError:
        return ""
