"""`report`, of tables with any number of tasks: nothing has to be trained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline import cli

SHAPES = [(1, 1), (1, 4), (1, 16), (4, 1), (16, 1), (4, 4), (16, 16), (2, 8), (8, 2)]


def polyscale(*words: object) -> int:
    return cli.main([str(word) for word in words])


@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_a_table_of_any_number_of_tasks_gets_its_page(
    tasks: int, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    table, laws = tmp_path / "runs.csv", tmp_path / "laws"
    assert polyscale("simulate", "--tasks", tasks, "--out", table) == 0
    fit = ["fit", table, "--out", laws, "--draws", 20, "--hold-out", "708M"]
    fit += ["--capacity", "flexible"] if tasks > 1 else []
    assert polyscale(*fit) == 0
    assert f"figures: polyscale report {laws}" in capsys.readouterr().out
    weights = {1: (), 2: ("--p", "en-de=0.3")}.get(tasks)
    if weights is not None:
        assert polyscale("predict", laws, "--n", 1e9, *weights) == 0
    assert polyscale("recommend", laws, "--n", 1e9) == (2 if tasks == 1 else 0)
    assert ("nothing to recommend" in capsys.readouterr().err) == (tasks == 1)
    assert polyscale("report", laws, "--dpi", 40) == 0
    page = (laws / "report" / "index.html").read_text(encoding="utf-8")
    summary = json.loads((laws / "report" / "summary.json").read_text())
    assert len(summary["r2"]["joint"]) == tasks
    assert summary["held_out"]["size"]["max_error_percent"] < 2
    assert ("With one task there are no weights to recommend" in page) == (tasks == 1)
    assert '<h2 id="loss_by_size"' in page
    assert ('<h2 id="frontier"' in page) == (tasks > 1)


def test_shapes_of_one_task_get_their_page(tmp_path: Path) -> None:
    rng, lines = np.random.default_rng(0), ["task,p,size,n,n_enc,n_dec,loss"]
    for k, (enc, dec) in enumerate(SHAPES):
        loss = 1.4 + 0.9 * enc**-0.22 * dec**-0.31 + 0.001 * rng.standard_normal()
        n_enc, n_dec = int(1e6 * enc), int(1e6 * dec)
        lines.append(f"en-de,1,s{k},{n_enc + n_dec},{n_enc},{n_dec},{loss}")
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    fit = ("fit", tmp_path / "runs.csv", "--out", tmp_path / "laws")
    assert polyscale(*fit, "--law", "individual,bivariate", "--hold-out", "s8") == 0
    assert polyscale("report", tmp_path / "laws", "--out", tmp_path / "page") == 0
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="shapes"' in text and '<h2 id="encoder_share"' in text
    summary = json.loads((tmp_path / "page" / "summary.json").read_text())
    assert summary["held_out"]["size"]["max_error_percent"] < 0.2
    (found,) = [
        one
        for one in summary["findings"]
        if one["question"] == "decoder exponent is larger"
    ]
    assert found["holds"] and found["numbers"]["p_value"] < 0.01
    assert "p_d = 0.3" in found["text"] and "p_e = 0.2" in found["text"]


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for name, seed in (("first", 0), ("second", 1)):
        table = tmp_path / f"{name}.csv"
        polyscale("simulate", "--seed", seed, "--noise", 0.001, "--out", table)
        polyscale("fit", table, "--out", tmp_path / name, "--draws", 0)
    folders = (tmp_path / "first", tmp_path / "second")
    assert polyscale("report", *folders) == 2
    assert "need --out" in capsys.readouterr().err
    assert polyscale("report", *folders, "--out", tmp_path / "page") == 0
    summary = json.loads((tmp_path / "page" / "summary.json").read_text())
    assert [one["label"] for one in summary["series"]] == [
        "first en-de", "first en-zh", "second en-de", "second en-zh",
    ]  # fmt: skip
    pairs = {(one["first"], one["second"]): one for one in summary["comparisons"]}
    assert len(pairs) == 4
    # The same law with other noise; the two tasks have other exponents.
    assert "alpha" not in pairs["first en-de", "second en-de"]["differ"]
    assert pairs["first en-de", "second en-de"]["capacity"]["p_value"] > 0.01
    assert "alpha" in pairs["first en-de", "first en-zh"]["differ"]
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("FOLDER", "no artifact of a run"),
        ("FOLDER --set report.level=0.9", "--set: does not apply"),
        ("quickstart --out page", "--out: does not apply"),
        ("nowhere1 nowhere2 --out page", "no folder nowhere1"),
    ],
)
def test_mistakes_are_told(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert polyscale("report", *words.replace("FOLDER", str(tmp_path)).split()) == 2
    assert message in capsys.readouterr().err
