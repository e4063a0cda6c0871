"""What `pip install` and Beam's workers get, and what the lock file promises."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("models", "components", "pipeline", "configs")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PEERS = (ROOT / "requirements-peers.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a clean copy of the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, tree)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "bdist_wheel"],
        cwd=tree,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tree / "dist").glob("polyscale-*.whl")
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_the_wheel_holds_every_module_and_every_experiment(wheel):
    wanted = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".yaml", ".html", ".css")
    }
    assert wanted <= set(wheel)
    assert not [name for name in wheel if name.startswith("tests/")]


def test_it_brings_the_command(wheel):
    (entry_points,) = (text for name, text in wheel.items() if "entry_points" in name)
    assert "polyscale = pipeline.cli:main" in entry_points


def test_fitting_laws_alone_needs_no_engine(wheel):
    (metadata,) = (text for name, text in wheel.items() if name.endswith("METADATA"))
    required = re.findall(r"^Requires-Dist: ([\w.-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert {name.lower() for name in required} == {
        "numpy",
        "scipy",
        "pyyaml",
        "matplotlib",
        "jinja2",
    }


def test_every_named_requirement_is_pinned(wheel):
    (metadata,) = (text for name, text in wheel.items() if name.endswith("METADATA"))
    # Of everything but the extras that "all" leaves out too.
    pattern = r"^Requires-Dist: ([\w.-]+)(?![^\n]*extra == .(?:comet|huggingface).)"
    named = re.findall(pattern, metadata, re.MULTILINE)
    assert {"numpy", "tensorflow", "pytest"} <= set(named)
    pinned = re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE)

    def same(name: str) -> str:
        return name.lower().replace("_", "-")

    assert {same(name) for name in named} <= {same(name) for name in pinned}


@pytest.mark.parametrize("lock", [LOCK, PEERS], ids=["own", "peers"])
def test_a_lock_file_names_versions_and_nothing_else(lock):
    for line in lock.splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)


def test_the_peers_replace_nothing_of_ours():
    own, peers = (
        {line.partition("==")[0] for line in lock.splitlines() if "==" in line}
        for lock in (LOCK, PEERS)
    )
    assert not own & peers
