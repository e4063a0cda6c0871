"""What fitted laws are asked through the command line: shapes, levels, test sets."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from components.fit import law_file
from pipeline.cli import main

SIDES = (2.1e7, 4.2e7, 8.4e7, 1.68e8)


def bivariate_table(path: Path) -> Path:
    """[N] eq. 1 with p_e = .18, p_d = .32 and noise .001, two mixtures."""
    rng = np.random.default_rng(2)
    lines = ["task,n,n_enc,n_dec,p,loss"]
    for p, factor in ((1.0, 1.0), (0.4, 1.2)):
        for enc in SIDES:
            for dec in SIDES:
                reducible = factor * (enc / 5e7) ** -0.18 * (dec / 5e7) ** -0.32
                loss = 1.1 + 0.5 * reducible + rng.normal(0, 0.001)
                lines.append(f"en-de,{enc + dec:g},{enc:g},{dec:g},{p},{loss:.6f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    table = bivariate_table(folder / "runs.csv")
    out = folder / "laws"
    assert main(["fit", str(table), "--law", "bivariate", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def laws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laws")
    table, out = folder / "runs.csv", folder / "laws"
    assert main(["simulate", "--out", str(table), "--noise", "0.004"]) == 0
    options = ["--draws", "20", "--hold-out", "708M", "--fix", "irreducible_loss=1.2"]
    assert main(["fit", str(table), "--out", str(out), *options]) == 0
    return out


def ask(capsys: pytest.CaptureFixture, *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_a_shape_is_predicted_with_the_best_split_and_its_penalty(shapes, capsys):
    words = ("predict", str(shapes), "--n-enc", "3e8", "--n-dec", "1e8", "--json")
    found = {one["p"]: one for one in json.loads(ask(capsys, *words, "--p", ""))}
    assert set(found) == {0.4, 1.0}
    one = found[1.0]
    truth = 1.1 + 0.5 * 6.0**-0.18 * 2.0**-0.32
    shape = one["shape"]
    assert one["low"] < truth < one["high"] and one["high"] - one["low"] < 0.02
    assert shape["best_n_enc"] == pytest.approx(4e8 * 0.18 / 0.5, rel=0.05)
    assert shape["best_n_enc"] + shape["best_n_dec"] == pytest.approx(4e8)
    penalty = (0.36 / 0.75) ** 0.18 * (0.64 / 0.25) ** 0.32
    assert shape["penalty"] == pytest.approx(penalty, rel=0.03)
    text = ask(capsys, "predict", str(shapes), "--n-enc", "3e8", "--n-dec", "1e8")
    assert text.count("that of the best split") == 2


def test_the_report_of_a_bivariate_law_has_the_optimal_split(shapes):
    text = (shapes / "report.txt").read_text()
    assert "optimal split ([N] Prop. 1)" in text
    assert "the same on both sides costs 1.0" in text


def test_a_held_out_size_is_predicted_and_a_given_coefficient_kept(laws):
    with open(laws / "held_out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["size"] for row in rows} == {"708M"}
    for law in law_file.load(laws).laws:
        assert law.parameters["irreducible_loss"] == 1.2
        assert "irreducible_loss" in law.fixed


def test_a_level_widens_every_answer(laws, capsys):
    def width(*words: str) -> float:
        row = next(csv.DictReader(io.StringIO(ask(capsys, *words))))
        return float(row["high"]) - float(row["low"])

    asked = ("frontier", str(laws), "--n", "1e9", "--points", "3")
    assert width(*asked, "--level", "0.99") > 1.2 * width(*asked)
    words = ("predict", str(laws), "--n", "1e9", "--p", "en-de=0.3", "--json")
    ends = [
        json.loads(ask(capsys, *words, "--level", level))[0] for level in ("0.5", "0.9")
    ]
    assert ends[0]["high"] < ends[1]["high"]


def damage(laws: Path, place: Path, change) -> Path:
    record = json.loads((laws / "laws.json").read_text())
    change(record)
    place.write_text(json.dumps(record))
    return place


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(version=2), "law file of version 2, this polyscale reads"),
        (lambda r: r.update(version="1"), "law file of version '1'"),
        (lambda r: r.update(laws=[]), "a law file without laws"),
        (lambda r: r["laws"][3].update(covariance=[[1]]), "covariance"),
        (lambda r: r["laws"][3].update(interval_draws=[[1]]), "draws"),
        (lambda r: r["laws"][3].update(form="cubic"), "no cubic form of a law"),
        (lambda r: r["laws"][3].update(kind="cubic"), "no law of kind cubic"),
        (lambda r: r["laws"][3].pop("task"), "damaged law file (KeyError: 'task')"),
    ],
)
def test_a_damaged_law_file_is_refused_in_one_line(
    laws, tmp_path, capsys, change, said
):
    file = damage(laws, tmp_path / "damaged.json", change)
    capsys.readouterr()
    assert main(["predict", str(file), "--n", "1e9", "--p", "en-de=0.3"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"polyscale: {file}: ") and error.count("\n") == 1
    assert said in error


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("fit FOLDER --out OUT", "a folder without metrics.csv"),
        ("fit TABLE --out OUT --seed -4", "--seed: -4; expected 0 or more"),
        ("fit TABLE --out TABLE/x", "is a file, not a folder"),
        ("fit TABLE --out OUT --fix alhpa=0.3", "none of these laws has a coefficient"),
        ("fit TABLE --out OUT --fix alpha", "--fix: cannot read 'alpha'"),
        ("fit TABLE --out OUT --fix alpha=99", "alpha fixed at 99; expected"),
        ("fit TABLE --out OUT --hold-out 5M", "held-out size 5M is not in the table"),
        ("fit TABLE --out OUT --test-set wmt", "no test set wmt; the table has"),
        ("fit TABLE --out OUT --uncertainty q", "--uncertainty: expected one of t, "),
        ("predict LAWS --n-enc 1e8", "--n-dec is missing"),
        ("predict LAWS --n-enc 1e8 --n-dec 1e8", "no bivariate law"),
        (
            "predict SHAPES --n-enc 1e8 --n-dec 1e8 --p en-de=0.5",
            "those there are are of",
        ),
        (
            "predict LAWS --n 1e9 --p en-de=0.3 --level 1",
            "--level: 1; expected between 0 and 1",
        ),
        ("recommend LAWS --n 1e9 --test-set wmt", "no law of test set wmt"),
    ],
)
def test_a_mistake_is_one_line(laws, shapes, tmp_path, capsys, command, said):
    table = tmp_path / "runs.csv"
    main(["simulate", "--out", str(table)])
    places = {"LAWS": str(laws), "SHAPES": str(shapes), "FOLDER": str(tmp_path)}
    places |= {"TABLE": str(table), "OUT": str(tmp_path / "out")}
    places["TABLE/x"] = f"{table}/x"
    capsys.readouterr()
    assert main([places.get(word, word) for word in command.split()]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("polyscale: ") and said in error
