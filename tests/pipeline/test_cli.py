"""The command line from outside: results, one-line mistakes and exit statuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from pipeline import cli


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Runs of a known law: L = 1.2 + .45 (1e8 / (f n)) ** .3, f = p + .2 p^.5 (1-p)."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("table") / "runs.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "n", "p", "loss"])
        for n in (2e6, 5e6, 1e7, 2e7, 5e7, 1e8):
            for p in (0.1, 0.3, 0.5, 0.7, 0.9):
                for task, own in (("en-de", p), ("en-fr", 1 - p)):
                    share = own + 0.2 * own**0.5 * (1 - own)
                    loss = 1.2 + 0.45 * (1e8 / (share * n)) ** 0.3
                    noise = 1 + 0.001 * rng.standard_normal()
                    writer.writerow([task, n, round(own, 3), loss * noise])
    return path


@pytest.fixture(scope="module")
def laws(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("laws")
    assert cli.main(["fit", str(table), "--out", str(out / "fit")]) == 0
    return out / "fit"


def test_fit_prints_one_screen_and_writes_the_laws(laws, table, capsys):
    assert cli.main(["fit", str(table), "--out", str(laws)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 12
    for start in ("back-test on in_domain", "nothing was held out", "recommendation"):
        assert any(line.startswith(start) for line in lines)
    assert cli.main(["fit", str(table), "--out", str(laws), "--verbose"]) == 0
    assert "joint law of en-de" in capsys.readouterr().out
    record = json.loads((laws / "laws.json").read_text(encoding="utf-8"))
    assert record["format"] == "polyscale.laws"


def test_predict_at_a_point_and_for_a_table(laws, table, tmp_path, capsys):
    command = ["predict", str(laws), "--n", "1e9", "--p", "en-de=0.3", "--json"]
    assert cli.main(command) == 0
    german, french = json.loads(capsys.readouterr().out)
    share = 0.3 + 0.2 * 0.3**0.5 * 0.7
    truth = 1.2 + 0.45 * (0.1 / share) ** 0.3
    assert german["predicted"] == pytest.approx(truth, abs=0.02)
    assert french["p"] == pytest.approx(0.7)
    out = tmp_path / "deeper" / "predicted.csv"
    assert (
        cli.main(["predict", str(laws), "--table", str(table), "--out", str(out)]) == 0
    )
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 60
    assert max(abs(float(row["error"])) for row in rows) < 0.02


def test_frontier_and_recommendation(laws, capsys):
    assert cli.main(["frontier", str(laws), "--n", "1e9", "--points", "11"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(rows) == 11 * 2
    weights = {}
    for prefer in ("en-de=1,en-fr=1", "en-de=3,en-fr=1"):
        command = ["recommend", str(laws), "--n", "1e9", "--prefer", prefer, "--json"]
        assert cli.main(command) == 0
        weights[prefer] = json.loads(capsys.readouterr().out)["weights"]["en-de"]
    assert weights["en-de=1,en-fr=1"] == pytest.approx(0.5, abs=0.03)
    assert weights["en-de=3,en-fr=1"] > 0.6


def test_a_recommendation_can_be_asked_for_in_other_ways(laws, capsys):
    command = ["recommend", str(laws), "--n", "1e9"]
    assert cli.main([*command, "--objective", "minimax"]) == 0
    assert "minimax objective" in capsys.readouterr().out
    capped = ["--examples", "en-de=1e6,en-fr=1e9", "--max-repeats", "4"]
    capped += ["--planned-examples", "1e8", "--json"]
    assert cli.main([*command, *capped]) == 0
    weights = json.loads(capsys.readouterr().out)["weights"]
    assert weights["en-de"] <= 0.04 + 1e-6
    assert cli.main([*command, "--require", "en-de<=1.45", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["losses"]["en-de"] <= 1.45 + 1e-6


def test_what_simulate_makes_fit_recovers(tmp_path, capsys):
    table, out = tmp_path / "runs.csv", tmp_path / "laws"
    assert cli.main(["simulate", "--seed", "3", "--out", str(table)]) == 0
    command = ["fit", str(table), "--out", str(out), "--law", "joint"]
    assert cli.main([*command, "--draws", "50"]) == 0
    record = json.loads((out / "laws.json").read_text(encoding="utf-8"))
    found = {
        law["task"]: law["parameters"]["irreducible_loss"]
        for law in record["laws"]
        if law["kind"] == "joint"
    }
    assert found["en-de"] == pytest.approx(1.2, abs=0.03)
    assert cli.main(["simulate", "--seed", "3"]) == 0
    assert capsys.readouterr().out.endswith(table.read_text(encoding="utf-8"))


def test_plan_as_text_and_as_json(capsys):
    assert cli.main(["plan", "en_de_zh"]) == 0
    assert "72 trials of en-de-zh" in capsys.readouterr().out
    assert cli.main(["plan", "en_de_zh", "--json", "--set", "train.seeds=[0, 1]"]) == 0
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 144


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fitt", "unknown 'fitt'; did you mean fit?"),
        ("run", "the following arguments are required: EXPERIMENT.yaml"),
        ("run nowhere.yaml", "nowhere.yaml: no such file (shipped: "),
        ("run en_de_zh --until trian", "--until: expected one of ingest, select, tok"),
        ("run en_de_zh --jobs 0", "--jobs: 0; expected 1 or more"),
        ("run en_de_zh --bogus", "unrecognized arguments: --bogus"),
        ("run en_de_zh", "ingest.text.en-de.source: no file "),
        ("plan en_de_zh --gflops 0", "--gflops: 0; expected a positive number"),
        ("plan en_de_zh --set train.steps=x", "--set: train.steps: expected a whole"),
        ("fit none.csv --out OUT", "none.csv: no such table"),
        (
            "fit none.csv --out OUT --law jiont",
            "--law: expected one of individual, joi",
        ),
        ("fit none.csv --out OUT --draws -1", "--draws: -1; expected 0 or more"),
        ("predict LAWS --n 1e9", "--p is missing; these laws know"),
        ("predict LAWS", "predict: expected either --n and --p, or --n-enc and"),
        ("predict LAWS --n 1e9 --p en-de=x", "--p en-de: expected a number, found 'x'"),
        ("predict LAWS --n 1e9 --p en-zh=1", "unknown task en-zh; these laws know"),
        ("predict LAWS --n zero --p en-de=1", "--n: expected a number, found 'zero'"),
        ("predict OUT --n 1e9 --p en-de=1", "OUT"),
        (
            "recommend LAWS --n 1e9 --prefer en-de",
            "--prefer: cannot read 'en-de'; expected",
        ),
        ("recommend LAWS --n 1e9 --prefer en-de=1,en-de=2", "en-de is named twice"),
        ("recommend LAWS --n 1e9 --objective best", "--objective: expected one of wei"),
        ("recommend LAWS --n 1e9 --require en-zh<=2", "unknown task en-zh"),
        ("recommend LAWS --n 1e9 --require en-de", "expected task<=loss"),
        ("recommend LAWS --n 1e9 --max-repeats 4", "--max-repeats: "),
        ("recommend LAWS --n 1e9 --prefer en-zh=1", "unknown task en-zh"),
        ("simulate --tasks 0", "tasks: 0; expected 1 to 20"),
        ("simulate --noise -1", "noise: -1; expected"),
        ("simulate --seed -1", "seed: -1; expected 0 or more"),
        ("frontier LAWS --n 1e9 --points 1", "--points: 1; expected 2 or more"),
        ("frontier LAWS --n 1e9 --out LAWS", "is a folder; nothing was changed"),
    ],
)
def test_a_mistake_is_one_line_and_status_two(laws, tmp_path, capsys, command, message):
    capsys.readouterr()
    places = {"LAWS": str(laws), "OUT": str(tmp_path / "OUT")}
    assert cli.main([places.get(word, word) for word in command.split()]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("polyscale: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_without_a_command_it_explains_itself(capsys):
    assert cli.main([]) == 0
    assert "start here:" in capsys.readouterr().out


def test_every_command_explains_itself(capsys):
    for command in cli.build_parser()._subparsers._group_actions[0].choices:
        with pytest.raises(SystemExit) as caught:
            cli.main([command, "--help"])
        assert caught.value.code == 0
        assert f"usage: polyscale {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("package", "extra"), [("tensorflow", "cpu"), ("apache_beam.io", "data")]
)
def test_a_missing_package_names_what_to_install(
    monkeypatch, capsys, tmp_path, package, extra
):
    def simulate_table(*_: object) -> str:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr("components.fit.simulation.simulate_table", simulate_table)
    assert cli.main(["simulate"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"polyscale[{extra}]" in error


def test_results_are_not_written_to_a_bucket(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    bucket = "gs://some-bucket/run"
    assert cli.main(["run", "quickstart", "--workdir", bucket]) == 2
    assert cli.main(["simulate", "--out", f"{bucket}/t.csv"]) == 2
    assert capsys.readouterr().err.count("results are written to this machine") == 2
    assert list(tmp_path.iterdir()) == []
