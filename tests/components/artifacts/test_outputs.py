"""Nothing that this package did not make is removed or replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from components.artifacts import manifest, outputs
from models.errors import UserError
from pipeline.cli import main

_TABLE = "task,n,p,loss\n" + "".join(
    f"en-de,{n},{p},{1 + (n * p) ** -0.3:.6f}\n"
    for n in (10, 20, 40, 80)
    for p in (0.3, 0.5, 1.0)
)


def _tree(folder: Path) -> dict[str, str]:
    """Relative path -> text of everything under a folder."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _complete(output: Path, config: dict, text: str = "result") -> manifest.Manifest:
    def make(folder: Path) -> dict:
        (folder / "figures").mkdir()
        (folder / "result.txt").write_text(text)
        (folder / "figures" / "one.svg").write_text("<svg/>")
        return {}

    return manifest.complete("fit", output, config=config, inputs={}, make=make)


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text(_TABLE)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("ten years")
    (tmp_path / "home" / "my.csv").write_text(_TABLE)
    return tmp_path


def _refused(work: Path, capsys, *arguments: str) -> str:
    """Runs a command that must refuse and leave everything as it was."""
    before = _tree(work)
    assert main(list(arguments)) == 2
    assert _tree(work) == before
    assert not list(work.rglob(".*.tmp"))
    message = capsys.readouterr().err.strip().splitlines()
    assert len(message) == 1
    return message[0]


@pytest.mark.parametrize(
    ("out", "named"),
    [("home", "my.csv, thesis.tex"), (".", "current folder"), ("..", "current folder"),
     ("my.csv", "is a file"), ("my.csv/laws", "is a file"), ("/proc", "mount point")],
)  # fmt: skip
def test_fit_refuses_to_replace_what_it_did_not_make(work, capsys, out, named):
    assert named in _refused(work, capsys, "fit", "my.csv", "--out", out)


def test_fit_refuses_a_link_even_to_its_own_artifact(work, capsys):
    assert main(["fit", "my.csv", "--out", "laws", "--draws", "10"]) == 0
    os.symlink("laws", "link")
    capsys.readouterr()
    message = _refused(work, capsys, "fit", "my.csv", "--out", "link", "--seed", "2")
    assert "is a link" in message


def test_a_step_refuses_a_folder_of_the_users_with_its_name(work, capsys):
    (work / "wd" / "ingest").mkdir(parents=True)
    (work / "wd" / "ingest" / "notes.txt").write_text("mine")
    quickstart = Path(__file__).parents[3] / "configs" / "quickstart.yaml"
    before = _tree(work)
    assert main(["ingest", str(quickstart), "--workdir", "wd"]) == 2
    assert "notes.txt" in capsys.readouterr().err
    after = _tree(work)
    for ours in ("wd/.lock", "wd/run.log"):
        after.pop(ours)
    assert after == before


@pytest.mark.parametrize(
    ("name", "text"),
    [("thesis.tex", "ten years"), ("other.csv", "a,b\n1,2\n"), ("x.json", '{"a": 1}')],
)
def test_simulate_keeps_a_file_that_is_no_table(work, capsys, name, text):
    (work / name).write_text(text)
    message = _refused(work, capsys, "simulate", "--tasks", "2", "--out", name)
    assert "holds something else" in message


def test_simulate_replaces_its_own_table_but_none_of_an_artifact(work, capsys):
    assert main(["simulate", "--tasks", "2", "--out", "t.csv"]) == 0
    first = (work / "t.csv").read_text()
    assert main(["simulate", "--tasks", "2", "--seed", "3", "--out", "t.csv"]) == 0
    assert (work / "t.csv").read_text() != first

    def make(folder: Path) -> dict:
        (folder / "metrics.csv").write_text(first)
        return {}

    manifest.complete("evaluate", work / "e", config=1, inputs={}, make=make)
    capsys.readouterr()
    message = _refused(work, capsys, "simulate", "--out", "e/metrics.csv")
    assert "belongs to the results" in message


def test_an_artifact_alone_is_replaced_and_one_with_guests_is_not(tmp_path):
    output = tmp_path / "fit"
    _complete(output, {"seed": 1})
    _complete(output, {"seed": 2}, "newer")
    assert (output / "result.txt").read_text() == "newer"
    (output / "figures" / "mine.png").write_text("guest")
    with pytest.raises(UserError, match=r"figures/mine\.png"):
        _complete(output, {"seed": 3})
    assert (output / "result.txt").read_text() == "newer"
    assert sorted(os.listdir(tmp_path)) == ["fit"]


@pytest.mark.parametrize("guest", [True, False])
def test_an_artifact_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path, monkeypatch, guest
):
    """A file arrives between the last check and the exchange, or the exchange fails."""
    output = tmp_path / "fit"
    _complete(output, {"seed": 1})
    replace = os.replace

    def disturbed(source, target):
        if Path(target) == output and not guest and Path(source).suffix == ".tmp":
            raise OSError("no")
        if Path(source) == output and guest:
            (output / "mine.txt").write_text("guest")
        replace(source, target)

    monkeypatch.setattr(os, "replace", disturbed)
    with pytest.raises(UserError if guest else OSError):
        _complete(output, {"seed": 2}, "newer")
    monkeypatch.undo()
    left = {"fit/result.txt": "result"} | ({"fit/mine.txt": "guest"} if guest else {})
    assert left.items() <= _tree(tmp_path).items()
    assert os.listdir(tmp_path) == ["fit"]


def test_a_manifest_of_others_protects_its_folder(tmp_path):
    output = tmp_path / "extension"
    output.mkdir()
    (output / "manifest.json").write_text(json.dumps({"files": ["a.js"]}))
    (output / "a.js").write_text("1")
    assert outputs.foreign_files(output) == ["a.js", "manifest.json"]


def test_an_empty_folder_is_taken_and_a_failure_leaves_no_trace(tmp_path):
    output = tmp_path / "empty"
    output.mkdir()

    def fail(folder: Path) -> dict:
        (folder / "half.txt").write_text("half")
        raise UserError("no")

    with pytest.raises(UserError, match="no"):
        manifest.complete("fit", output, config=1, inputs={}, make=fail)
    assert _tree(tmp_path) == {}
    assert os.listdir(tmp_path) == ["empty"]
    _complete(output, {"seed": 1})
    assert outputs.foreign_files(output) == []


def test_what_a_killed_process_left_is_cleared_and_the_users_is_not(tmp_path):
    output = tmp_path / "fit"
    with pytest.raises(KeyError), outputs.working_folder(output) as folder:
        (folder / "half.txt").write_text("half")
        left = _tree(tmp_path)
        raise KeyError
    assert _tree(tmp_path) == {}
    for name, text in left.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    _complete(output, {"seed": 1})
    assert os.listdir(tmp_path) == ["fit"]
    (tmp_path / ".fit.tmp").mkdir()
    (tmp_path / ".fit.tmp" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="in the way"):
        _complete(output, {"seed": 2})
    assert (tmp_path / ".fit.tmp" / "mine.txt").read_text() == "mine"


def test_forcing_a_step_removes_listed_files_only(tmp_path):
    train = tmp_path / "train"
    for trial in ("a", "b"):
        _complete(train / trial, {"trial": trial})
    (train / "b" / "notes.txt").write_text("mine")
    (train / "log.txt").write_text("ours")
    manifest.seal(train, verb="train", config=1, inputs={}, counts={}, seconds=1.0)
    (train / "plan.md").write_text("mine")
    (train / ".progress").mkdir()
    (train / ".progress" / "state").write_text("ours")
    outputs.remove_artifact(train)
    assert _tree(train) == {"b/notes.txt": "mine", "plan.md": "mine"}
