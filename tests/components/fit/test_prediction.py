"""Answers of fitted laws: the law's formula by hand, or one line and exit 2."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from components import fit
from components.fit import law_file
from components.fit.prediction import predict, predict_table, prediction_text
from models.errors import UserError
from models.laws import ApproximateLaw, JointLaw, Law, Query, SharedLaw
from models.laws.backtest import Backtest, Candidate
from models.laws.choice import LawSet
from pipeline.cli import main

SIZES = (2e6, 5e6, 1.1e7, 3e7, 8e7)
WEIGHTS = (0.1, 0.3, 0.5, 0.8, 1.0)
ARCHITECTURES = {"A": 1.0, "B": 2.5}


def table(path: Path, architectures: tuple[str, ...] = ("A", "B"), seed: int = 0):
    """Two tasks; architecture B has losses that are 2.5 times as high."""
    rng = np.random.default_rng(seed)
    rows = ["task,n,p,loss,arch"]
    for arch, n, p in itertools.product(architectures, SIZES, WEIGHTS):
        for task, own, floor in (("en-de", p, 1.3), ("en-zh", 1 - p, 1.7)):
            if own == 0:
                continue
            f = own + 0.3 * own * (1 - own)
            loss = (0.9 * (f * n / 1e6) ** -0.3 + floor) * ARCHITECTURES[arch]
            loss += 0.002 * rng.standard_normal()
            rows.append(f"{task},{n:g},{own:.2g},{loss:.6f},{arch}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(name="groups", scope="module")
def _groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    config = fit.Config(draws=0, by=("arch",))
    fit.run(config, table=table(folder / "runs.csv"), output=folder / "fit")
    return folder / "fit"


@pytest.fixture(name="laws", scope="module")
def _laws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laws")
    runs = table(folder / "runs.csv", ("A",))
    fit.run(fit.Config(draws=0), table=runs, output=folder / "fit")
    return folder / "fit"


def by_hand(law: Law, n: float, p: float) -> float:
    """The law's equation with its coefficients."""
    c, x = law.parameters, n / law.reference["n"]
    if isinstance(law, ApproximateLaw):
        if law.form == "linear":
            f = c["c1"] * (p - 1) + 1
        elif law.form == "flexible":
            f = p + c["c1"] * p ** c["c2"] * (1 - p) ** c["c3"]
        else:
            f = p + (1 - p) * next(v for k, v in c.items() if k.startswith("g["))
            f *= np.exp(c.get("r", 0.0) * (1 - p))
        return c["beta"] * (f * x) ** -c["alpha"] + c["irreducible_loss"]
    label = next(w.label for w in law.weightings if abs(w.p - p) < 1e-9)
    beta = c.get("beta", c.get(f"beta[{label}]"))
    floor = c.get("irreducible_loss", c.get(f"irreducible_loss[{label}]"))
    return beta * x ** -c["alpha"] + floor


@pytest.mark.parametrize("seed", range(12))
def test_an_answer_is_the_laws_equation(laws: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = float(np.exp(rng.uniform(np.log(1e6), np.log(1e10))))
    p = float(rng.choice([0.1, 0.3, 0.8, rng.uniform(0.02, 0.98)]))
    content = law_file.load(laws)
    for one in predict(laws, n, {"en-de": p}):
        query = Query(n, one.p)
        law = content.known.answering(one.task, one.test_set, query)
        assert law.kind == one.law
        assert one.predicted == pytest.approx(by_hand(law, n, one.p), rel=1e-9)
        assert one.low < one.predicted < one.high
        assert one.backtest and ("largest fitted size" in one.note) == (n > 8e7)


def test_groups_have_laws_of_their_own_and_must_be_named(groups: Path) -> None:
    with pytest.raises(UserError, match="2 groups of runs .*; name one, as --by arch="):
        predict(groups, 1e8, {"en-de": 0.3})
    answers = {
        arch: predict(groups, 1e8, {"en-de": 0.3}, by={"arch": arch})[0].predicted
        for arch in ARCHITECTURES
    }
    assert answers["B"] / answers["A"] == pytest.approx(2.5, rel=0.02)
    unseen = {
        arch: predict(groups, 1e8, {"en-de": 0.42}, by={"arch": arch})[0].predicted
        for arch in ARCHITECTURES
    }
    assert unseen["B"] / unseen["A"] == pytest.approx(2.5, rel=0.02)
    with pytest.raises(UserError, match="--by arch=C: no such group; there is arch=A"):
        predict(groups, 1e8, {"en-de": 0.3}, by={"arch": "C"})


def test_rows_of_a_table_carry_their_own_group(groups: Path, tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("task,n,p,arch\nen-de,1e8,0.42,A\nen-de,1e8,0.42,B\n")
    rows = list(csv.DictReader(io.StringIO(predict_table(groups, points))))
    ratio = float(rows[1]["predicted"]) / float(rows[0]["predicted"])
    assert ratio == pytest.approx(2.5, rel=0.02)
    points.write_text("task,n,p\nen-de,1e8,0.42\n")
    with pytest.raises(UserError, match="row 2: there are 2 groups of runs"):
        predict_table(groups, points)
    assert predict_table(groups, points, by={"arch": "B"}).count("\n") == 2
    points.write_text("task,n,p,arch\nen-de,1e8,0.42,C\n")
    with pytest.raises(UserError, match="row 2: --by arch=C: no such group"):
        predict_table(groups, points)


@pytest.mark.parametrize("command", ["frontier", "recommend"])
def test_every_question_demands_the_group(groups: Path, capsys, command: str) -> None:
    words = [command, str(groups), "--n", "1e8"]
    assert main(words) == 2
    assert "name one, as --by arch=A" in capsys.readouterr().err
    assert main([*words, "--by", "arch=B"]) == 0
    assert capsys.readouterr().out


def test_cohorts_of_a_task_never_pool(tmp_path: Path) -> None:
    rows = table(tmp_path / "runs.csv").read_text().replace(",arch\n", ",cohort\n")
    (tmp_path / "runs.csv").write_text(rows)
    config = fit.Config(draws=0)
    fit.run(config, table=tmp_path / "runs.csv", output=tmp_path / "fit")
    assert set(law_file.load(tmp_path / "fit").known.groups) == {"cohort=A", "cohort=B"}
    assert "each cohort has its own laws" in (tmp_path / "fit/report.txt").read_text()


def candidates(**errors: float) -> tuple[Candidate, ...]:
    return tuple(Candidate(kind, rmse, 5, 20) for kind, rmse in errors.items())


def test_the_back_tests_choice_answers_wherever_it_can(laws: Path) -> None:
    content = law_file.load(laws)
    for chosen in ("joint", "approximate"):
        errors = {"approximate": 0.02, "joint": 0.02} | {chosen: 0.01}
        judged = Backtest("largest left out", candidates(**errors), chosen)
        known = LawSet(content.laws, {"in_domain": judged})
        law = known.answering("en-de", "in_domain", Query(1e8, 0.3))
        assert law.kind == chosen and "the back-test's choice" in known.opinion(law)
        other = known.answering("en-de", "in_domain", Query(1e8, 0.301))
        assert isinstance(other, ApproximateLaw)
        if chosen == "joint":
            assert "prefers the joint law (RMSE 0.0100, here 0.0200), which" in (
                known.opinion(other)
            )
    assert isinstance(known.candidates("en-de", "in_domain")[1], JointLaw)
    assert not [law for law in content.laws if isinstance(law, SharedLaw)]


def test_every_output_names_its_law_and_says_extrapolation_first(
    laws: Path, capsys
) -> None:
    text = prediction_text(predict(laws, 1e9, {"en-de": 0.35}))
    assert text.startswith("extrapolation: 12.5x the largest fitted size (8e+07)")
    assert "approximate law: " in text
    assert main(["recommend", str(laws), "--n", "1e9"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("for n = 1e+09: 12.5x the largest fitted size")
    assert "approximate law (" in out and "on in_domain: " in out
    assert main(["frontier", str(laws), "--n", "1e9", "--points", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].endswith(",law")
    assert shown.err.startswith("extrapolation: n = 1e+09: 12.5x")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("predict LAWS --n 1e8 --p en-de=0", "no law describes a task that is not"),
        ("predict LAWS --table POINTS", "no column p and no mixture"),
        ("recommend LAWS --n 1e8 --require en-de<=0.5", "infeasible at n = 1e+08"),
        ("recommend LAWS --n 1e8 --prefer en-de=2", "prefer: en-zh is not named"),
        ("recommend LAWS --n 1e8 --by arch=A", "no such group; there is none"),
        ("predict LAWS --n 1e8 --p en-de=0.3 --by arch", "--by: cannot read 'arch'"),
    ],
)
def test_a_question_without_an_answer_is_refused_in_one_line(
    laws: Path, tmp_path: Path, capsys, words: str, said: str
) -> None:
    points = tmp_path / "points.csv"
    points.write_text("task,n,p\nen-de,1e8,\n")
    places = {"LAWS": str(laws), "POINTS": str(points)}
    assert main([places.get(word, word) for word in words.split()]) == 2
    shown = capsys.readouterr()
    assert said in shown.err.splitlines()[-1] and not shown.out


def test_preferences_may_be_given_one_by_one(laws: Path, capsys) -> None:
    def weights(*prefer: str) -> dict[str, float]:
        assert main(["recommend", str(laws), "--n", "1e8", "--json", *prefer]) == 0
        return json.loads(capsys.readouterr().out)["weights"]

    apart = weights("--prefer", "en-de=3", "--prefer", "en-zh=1")
    assert apart == weights("--prefer", "en-de=3,en-zh=1")
    assert apart["en-de"] > weights()["en-de"] + 0.05


def test_a_task_without_a_law_stops_a_recommendation(laws: Path, tmp_path: Path):
    content = law_file.load(laws)
    kept = [
        law
        for law in content.laws
        if law.task == "en-de" or not isinstance(law, ApproximateLaw)
    ]
    law_file.save(tmp_path / "laws.json", law_file.LawFile(tuple(kept)))
    with pytest.raises(UserError, match="no approximate law of en-zh on in_domain"):
        law_file.load(tmp_path / "laws.json").known.trade_off()
