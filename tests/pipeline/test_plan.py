"""What a sweep will cost: the papers' sizes to the parameter, and sums that hold."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from components.duration import duration
from models.errors import UserError
from models.nmt.sizes import ParameterCount
from pipeline import plan
from pipeline.cli import main
from pipeline.experiment import SHIPPED, load
from pipeline.useful_trials import Goal

# [M] App. A: N and, but for the padded table of d = 1280, the total at V = 128,000.
PAPER = {
    "19M": (18_881_024, 149_953_024),
    "64M": (63_714_816, 260_322_816),
    "127M": (127_427_328, 324_035_328),
    "191M": (191_139_840, 387_747_840),
    "340M": (339_787_776, 601_931_776),
    "453M": (453_049_344, 715_193_344),
    "708M": (707_869_184, 1_035_876_864),
    "1019M": (1_019_312_128, 1_412_528_128),
}


@pytest.fixture(scope="module")
def planned():
    return plan.make(load(SHIPPED / "en_de_zh.yaml"), jobs=4, gflops=1e5)


def test_sizes_are_those_of_the_paper(planned):
    padding = 128 * 2 * 1280
    for size in plan.record(planned, None)["sizes"]:
        n, total = PAPER[size["name"]]
        assert size["n"] == n == size["n_enc"] + size["n_dec"]
        expected = total - padding if size["name"] == "708M" else total
        assert size["total"] == expected == n + size["n_embedding"]


def test_larger_sizes_train_longer_as_in_the_paper(planned):
    steps = {size.name: size.steps for size in planned.sizes}
    assert steps["453M"] == 500_000
    assert steps["708M"] == steps["1019M"] == 1_000_000


def test_the_sums_are_over_all_trials(planned):
    record = plan.record(planned, None)
    assert len(record["trials"]) == planned.trials == 8 * 9
    assert record["tokens"] == 9 * (6 * 2.5e11 + 2 * 5e11)
    each = [size["flops"] * size["trials"] for size in record["sizes"]]
    assert record["flops"] == pytest.approx(sum(each))
    compiling = 8 * 3 * plan.COMPILE_SECONDS  # 9 trials a size, 4 side by side
    assert record["seconds"] == pytest.approx((sum(each) / 1e14 + compiling) / 4)


def test_narrow_models_are_slower_for_their_flops():
    sizes = plan.make(load(SHIPPED / "quickstart.yaml")).sizes
    speeds = [size.flops / size.seconds for size in sizes]
    assert speeds == sorted(speeds)
    assert speeds[-1] < 1e9 * plan.CORE_GFLOPS / 2


def test_flops_are_six_a_parameter_and_token():
    counts = ParameterCount(n_enc=30, n_dec=70, n_embedding=1000)
    assert plan.training_flops(counts, softmax=500, tokens=7) == 6 * 600 * 7


def test_the_text_shows_every_size_and_the_whole(planned):
    text = plan.text(planned, None)
    assert (
        "8 sizes x 9 mixtures x 1 seeds = 72 trials of en-de-zh (en-de, en-zh)" in text
    )
    for n, _ in PAPER.values():
        assert f"{n:,}" in text
    assert "2.25e+13 target tokens" in text
    assert "4 at a time at 100000 GFLOP/s each" in text


def test_part_of_the_papers_sweep_does_for_part_of_the_cost(planned):
    useful = plan.most_useful(planned)
    by_interval = {choice.interval: choice for choice in useful.choices}
    assert len(by_interval) == 4 and useful.trials == 72
    listed = useful.choices[useful.listed]
    assert 1.25 < listed.interval <= 1.3
    assert listed.cost_share < 0.15 and len(listed.trials) < 30
    assert listed.law_interval > listed.interval
    assert useful.half_width == pytest.approx(0.009, abs=0.001)
    assert useful.next == () and useful.done == 0
    lines = plan.text(planned, useful).splitlines()
    assert [line.strip() for line in lines[-len(listed.trials) :]] == list(
        listed.trials
    )
    assert plan.record(planned, useful)["most_useful"]["choices"][0]["trials"]


def test_the_fit_must_see_the_useful_trials():
    planned = plan.make(load(SHIPPED / "quickstart.yaml"))
    held_out = set(planned.experiment.fit.held_out.sizes)
    goal = Goal(mixture={"en-de": 0.25}, interval=1.7)
    useful = plan.most_useful(planned, goal)
    seen = {t.id for t in planned.experiment.trials if t.size not in held_out}
    assert held_out and set(useful.choices[0].trials) < seen
    assert useful.target_mixtures == ("en-de=0.25,en-fr=0.75",)
    assert useful.choices[useful.listed].interval <= 1.7
    assert useful.target_n == max(size.parameters.n for size in planned.sizes)


def test_three_tasks_have_useful_trials_too():
    planned = plan.make(
        load(SHIPPED / "en_de_fr_zh.yaml", ["train.sizes=[19M, 64M, 127M, 191M]"])
    )
    useful = plan.most_useful(planned)
    assert useful.trials == 40
    assert [choice.cost_share for choice in useful.choices] == sorted(
        (choice.cost_share for choice in useful.choices), reverse=True
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
        plan.most_useful(planned, Goal(mixture=mixture))


@pytest.mark.parametrize("gflops", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_speed_is_refused(planned, gflops):
    with pytest.raises(UserError, match="--gflops .*: expected a positive number"):
        plan.make(planned.experiment, gflops=gflops)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.949, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (185, "3 min 05 s"),
        (7810, "2 h 10 min"),
        (3 * 86_400, "3 days"),
        (1e12, "31,688 years"),
    ],
)
def test_durations_as_people_say_them(seconds, text):
    assert duration(seconds) == text


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
    found = json.loads(capsys.readouterr().out)["most_useful"]
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
