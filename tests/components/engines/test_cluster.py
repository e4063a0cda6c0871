"""The cluster that the environment describes, and workers that wait for its chief."""

import json
import threading
import time

import pytest

from components.engines import cluster
from models.errors import UserError


def test_the_cluster_is_read_from_the_environment(monkeypatch):
    described = {
        "cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]},
        "task": {"type": "worker", "index": 0},
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(described))
    found = cluster.member("multi_worker")
    assert (found.name, found.workers, found.is_chief) == ("worker-1", 3, False)
    described["task"]["type"] = "chief"
    monkeypatch.setenv("TF_CONFIG", json.dumps(described))
    assert cluster.member("multi_worker").is_chief
    del described["cluster"]["chief"]
    described["task"]["type"] = "worker"
    monkeypatch.setenv("TF_CONFIG", json.dumps(described))
    assert cluster.member("multi_worker").is_chief
    assert cluster.member("default").workers == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cluster": {"worker": ["a:1"]}}',
             '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}']
)  # fmt: skip
def test_an_unusable_cluster_is_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(UserError, match="TF_CONFIG.*expected, for example"):
        cluster.check("multi_worker")


def test_a_tpu_that_is_not_there_is_refused(monkeypatch):
    for name in cluster.TPU_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if cluster.has_tpu():
        pytest.skip("there is one")
    with pytest.raises(
        UserError, match="train.strategy: tpu, and there is none.*TPU_NAME"
    ):
        cluster.check("tpu")


def test_a_worker_waits_for_as_long_as_the_chief_is_alive(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 0.6)
    monkeypatch.setattr(cluster, "_BEAT_SECONDS", 0.05)
    beat, written = tmp_path / "chief", tmp_path / "manifest.json"

    def be_chief():
        with cluster.heartbeat(beat):
            time.sleep(1.5)
            written.touch()

    chief = threading.Thread(target=be_chief)
    chief.start()
    cluster.wait_for_chief(written.is_file, beat)
    chief.join()
    assert not beat.exists()


def test_a_worker_does_not_wait_for_a_chief_that_died(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 0.3)
    beat = tmp_path / "chief"
    beat.touch()  # left by a chief that was killed
    with pytest.raises(UserError, match="the chief has not written .*start all worker"):
        cluster.wait_for_chief((tmp_path / "manifest.json").is_file, beat)
