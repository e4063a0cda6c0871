"""Experiment design: which trials are enough, and which to train next."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from models.errors import UserError
from pipeline import plan
from pipeline.cli import main
from pipeline.design import Goal
from pipeline.experiment import SHIPPED, load


@pytest.fixture(scope="module")
def planned():
    return plan.make(load(SHIPPED / "en_de_zh.yaml"), jobs=4, gflops=1e5)


def test_part_of_the_papers_sweep_does_for_part_of_the_cost(planned):
    design = plan.design_of(planned)
    by_interval = {choice.interval: choice for choice in design.choices}
    assert len(by_interval) == 4 and design.trials == 72
    listed = design.choices[design.listed]
    assert 1.25 < listed.interval <= 1.3
    assert listed.cost_share < 0.15 and len(listed.trials) < 30
    assert listed.law_interval > listed.interval
    assert design.half_width == pytest.approx(0.009, abs=0.001)
    assert design.next == () and design.done == 0
    lines = plan.text(planned, design).splitlines()
    assert [line.strip() for line in lines[-len(listed.trials) :]] == list(
        listed.trials
    )
    assert plan.record(planned, design)["design"]["choices"][0]["trials"]


def test_the_fit_must_see_the_design():
    planned = plan.make(load(SHIPPED / "quickstart.yaml"))
    held_out = set(planned.experiment.fit.held_out.sizes)
    goal = Goal(mixture={"en-de": 0.25}, interval=1.7)
    design = plan.design_of(planned, goal)
    seen = {t.id for t in planned.experiment.trials if t.size not in held_out}
    assert held_out and set(design.choices[0].trials) < seen
    assert design.target_mixtures == ("en-de=0.25,en-fr=0.75",)
    assert design.choices[design.listed].interval <= 1.7
    assert design.target_n == max(size.parameters.n for size in planned.sizes)


def test_three_tasks_have_design_too():
    planned = plan.make(
        load(SHIPPED / "en_de_fr_zh.yaml", ["train.sizes=[19M, 64M, 127M, 191M]"])
    )
    design = plan.design_of(planned)
    assert design.trials == 40
    assert [choice.cost_share for choice in design.choices] == sorted(
        (choice.cost_share for choice in design.choices), reverse=True
    )


@pytest.mark.parametrize(
    ("mixture", "said"),
    [
        ({"en-ed": 0.5}, "--p: en-ed is not one of the tasks .*en-de"),
        ({"en-de": 0.5, "en-zh": 0.4}, "sum to 0.9, expected 1"),
    ],
)
def test_a_goal_that_cannot_be_is_refused(planned, mixture, said):
    with pytest.raises(UserError, match=said):
        plan.design_of(planned, Goal(mixture=mixture))


def done_table(path, rows, seeds=(0,)):
    """Runs of quickstart, at chosen (size, n, weight of en-de)."""
    lines = ["trial,task,size,seed,n,p,mixture,loss"]
    rng = np.random.default_rng(0)
    for size, n, p in rows:
        for seed in seeds:
            for task, own in (("en-de", p), ("en-fr", 1 - p)):
                if own > 0:
                    loss = 1 + 0.5 * (own * n / 1e4) ** -0.3 + rng.normal(0, 0.002)
                    lines.append(
                        f"en-xx_{size}_p{p:.2f}_s{seed},{task},{size},{seed},{n},"
                        f'{own:g},"en-de={p:g},en-fr={1 - p:g}",{loss:.6f}'
                    )
    path.write_text("\n".join(lines) + "\n")
    return path


QUICK = [("4k", 3798), ("9k", 9456), ("15k", 14668), ("21k", 21032)]


def test_a_partly_filled_table_says_which_run_to_train_next(tmp_path, capsys):
    rows = [(size, n, p) for size, n in QUICK for p in (0.3, 0.7)]
    held = [("29k", 28548, 0.3)]  # the fit must not see it
    table = done_table(tmp_path / "runs.csv", [*rows, *held])
    assert main(["plan", "quickstart", "--table", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["design"]
    assert (found["done"], found["trials"]) == (8, 24)
    trained = {f"en-xx_{size}_p{p:.2f}_s0" for size, _, p in rows}
    named = [one["trial"] for one in found["next"]]
    assert len(named) == 5 and not set(named) & trained
    assert not any("29k" in name for name in named)
    widths = [one["half_width"] for one in found["next"]]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] < (found["half_width_now"] or math.inf)
    assert main(["plan", "quickstart", "--table", str(table)]) == 0
    assert f"  {named[0]} " in capsys.readouterr().out


def test_a_full_table_leaves_nothing_to_train(tmp_path, capsys):
    rows = [(s, n, p) for s, n in QUICK for p in (0, 0.3, 0.4, 0.5, 0.7, 1)]
    table = done_table(tmp_path / "runs.csv", rows)
    assert main(["plan", "quickstart", "--table", str(table)]) == 0
    assert capsys.readouterr().out.endswith("every trial of the sweep is trained\n")


def test_a_table_alone_can_be_planned_on(tmp_path, capsys):
    rows = [(s, n, p) for s, n in QUICK for p in (0.1, 0.5, 0.7, 1)]
    table = done_table(tmp_path / "runs.csv", rows[:9] + rows[10:])
    arguments = ["plan", str(table), "--n", "1e5", "--p", "en-de=0.25"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # 16 cells: one is missing, of the others another seed could be trained
    assert (found["done"], found["trials"], found["choices"]) == (15, 16, [])
    assert found["target_mixtures"] == ["en-de=0.25,en-fr=0.75"]
    assert 0.001 < found["noise"]["en-de"] < 0.004
    assert main(arguments) == 0
    assert "15 runs are trained; at n = 1e+05 at en-de=0.25" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["TABLE", "--gflops", "5"], "--gflops: does not apply; .* is a table"),
        (["quickstart", "--table", "none.csv"], "none.csv: cannot be read"),
        (["en_de_zh", "--table", "TABLE"], "its mixtures have en-fr; expected"),
        (["quickstart", "--p", "en-de=2"], "--p|mixture"),
        (["quickstart", "--interval", "0.5"], "interval 0.5: expected 1 or more"),
        (["FEW"], "no more runs than the law has coefficients"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_one_line(
    tmp_path, capsys, arguments, said
):
    table = done_table(tmp_path / "t.csv", [(s, n, 0.5) for s, n in QUICK])
    few = done_table(tmp_path / "few.csv", [("4k", 3798, 0.5), ("9k", 9456, 0.3)])
    places = {"TABLE": str(table), "FEW": str(few)}
    assert main(["plan", *(places.get(word, word) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and re.search(said, error)
