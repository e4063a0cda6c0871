"""The graphs on the runners of clusters: built and checked without one."""

from __future__ import annotations

import errno
import io
import logging
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.portability.stager import Stager

from components import ingest, select, tokenize
from components.engines import beam_runner
from components.ingest.config import SyntheticConfig
from components.ingest.duplicates.config import Duplicates
from components.ingest.graph import build as ingest_graph
from components.ingest.sources.inputs import about_pairs, list_inputs
from components.select import graph as select_graph
from components.select.feature_score import FeatureScores
from components.tokenize import graph as tokenize_graph
from components.tokenize.shards import Job
from models.errors import UserError
from tests.components.parallel_text import TASKS, a_config, a_corpus

SETUP_FILE = Path(__file__).resolve().parents[3] / "setup.py"
RUNNERS = {
    "FlinkRunner": ("--flink_master=localhost:8081", "--environment_type=LOOPBACK"),
    "SparkRunner": ("--spark_version=3",),
    "DataflowRunner": (
        "--project=some-project",
        "--region=europe-west4",
        "--temp_location=gs://some-bucket/temporary",
        "--no_auth",
        "--dry_run=true",
    ),
}


def proto_of(pipeline):
    if isinstance(pipeline.runner, PortableRunner):
        return pipeline.runner.get_proto_pipeline(pipeline, pipeline.options)
    return pipeline.to_runner_api()


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("verb", ["ingest", "select", "tokenize"])
def test_the_job_of_a_cluster_is_made_without_one(runner, verb, tmp_path):
    options = (f"--runner={runner}", f"--setup_file={SETUP_FILE}", *RUNNERS[runner])
    pipeline = beam_runner.pipeline(options)
    assert type(pipeline.runner).__name__ == runner
    if verb == "ingest":
        a_corpus(tmp_path)
        config = a_config(duplicates=Duplicates(same="either", similarity=0.8))
        inputs = list_inputs(config, tmp_path, TASKS)
        ingest_graph.build(pipeline, config, inputs, "gs://some-bucket/ingest", 8)
        stages = {"Clean", "Partition", "Losers", "Write dead letters"}
    elif verb == "select":
        config = select.Config(online=True)
        jobs = [select_graph.Job("en-de", 0, 1, Path("train-a.jsonl.gz"))]
        scorers = FeatureScores(config)
        select_graph.build(pipeline, config, scorers, jobs, "gs://some-bucket/select")
        stages = {"Train", "Score", "Rank", "Scatter", "Write sorted", "Write counts"}
    else:
        jobs = [Job("en-de", "train", "<2de>", Path("a.jsonl.gz"), "a")]
        tokenize_graph.build(
            pipeline, tokenize.Config(), b"model", jobs, "gs://some-bucket/t"
        )
        stages = {"Tokenize", "Index"}
    assert not PipelineOptionsValidator(pipeline.options, pipeline.runner).validate()
    proto = proto_of(pipeline)
    names = {
        transform.unique_name for transform in proto.components.transforms.values()
    }
    assert {stage for stage in stages if any(stage in name for name in names)} == stages
    assert proto.SerializeToString()


def test_the_setup_file_brings_the_whole_project_to_the_workers(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("components", "models", "pipeline", "configs"):
        shutil.copytree(SETUP_FILE.parent / name, project / name)
    for name in ("setup.py", "README.md"):
        shutil.copy(SETUP_FILE.parent / name, project / name)
    options = PipelineOptions(
        [f"--setup_file={project / 'setup.py'}", "--no_save_main_session"]
    )
    (tmp_path / "staged").mkdir()
    Stager.create_job_resources(options, str(tmp_path / "staged"))
    (package,) = (tmp_path / "staged").glob("*.tar.gz")
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for module in (ingest_graph, select_graph, tokenize_graph):
        assert f"{module.__name__.replace('.', '/')}.py" in names
    assert "configs/quickstart.yaml" in names


def test_options_that_a_runner_misses_are_said():
    with pytest.raises(UserError, match=r"DataflowRunner.*temp_location.*project"):
        beam_runner.pipeline(["--runner=DataflowRunner", "--no_auth"])


def test_worker_processes_are_for_much_text_and_for_who_chose_nothing(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    given = ("--job_name=x",)
    assert beam_runner.with_workers(given, 499_999) == given
    many = beam_runner.with_workers(given, 500_000)
    assert many[1:] == (
        "--direct_running_mode=multi_processing",
        "--direct_num_workers=3",
    )
    assert beam_runner.workers(many) == 3
    assert beam_runner.workers(given) == 1
    for chosen in ("--runner=FlinkRunner", "--direct_num_workers=2"):
        assert beam_runner.with_workers((chosen,), 10**9) == (chosen,)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert beam_runner.with_workers(given, 10**9) == given


def test_the_number_of_pairs_is_told_from_the_size_of_files(tmp_path):
    read = a_corpus(tmp_path)
    inputs = list_inputs(a_config(), tmp_path, TASKS)
    about = about_pairs(a_config(), inputs)
    assert 0.2 * sum(read.values()) < about < 2 * sum(read.values())
    synthetic = ingest.Config(synthetic=SyntheticConfig(train_sentences=300_000))
    inputs = list_inputs(synthetic, tmp_path, TASKS)
    assert about_pairs(synthetic, inputs) == 600_000


def test_a_full_disk_is_one_line_without_a_traceback(tmp_path, caplog):
    full = RuntimeError(
        f"OSError: [Errno {errno.ENOSPC}] No space left [while running]"
    )
    handler = logging.StreamHandler(stream := io.StringIO())
    logging.getLogger().addHandler(handler)
    try:
        with pytest.raises(UserError, match="out: cannot be written: No space left"):
            with beam_runner.writing_to(tmp_path / "out"):
                logging.getLogger("apache_beam").error(full)
                logging.getLogger("apache_beam").error("another matter")
                raise full
        assert stream.getvalue() == "another matter\n"
    finally:
        logging.getLogger().removeHandler(handler)
    assert not handler.filters


def test_a_worker_ends_when_the_main_process_is_killed():
    worker = "from components.engines.beam_worker import end_with; import os, sys; "
    worker += "print(os.getpid(), flush=True); end_with(int(sys.argv[1]))"
    main = (
        "import os, subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-c', sys.argv[1], str(os.getpid())]); "
        "time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SETUP_FILE.parent)}
    command = [sys.executable, "-c", main, worker]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert int(process.stdout.readline()) > 0
        process.kill()
        # The pipe ends when its last writer, the worker, has ended.
        assert process.stdout.read() == b""
