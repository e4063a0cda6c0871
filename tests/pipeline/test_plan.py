"""What a sweep will cost: the papers' sizes to the parameter, and sums that hold."""

from __future__ import annotations

import pytest

from components.duration import duration
from models.errors import UserError
from models.nmt.sizes import ParameterCount
from pipeline import plan
from pipeline.experiment import SHIPPED, load

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
