"""``recommend`` from a law file to a frontier and weights."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from components import fit, recommend
from components.recommend.config import Config
from components.recommend.decision import (
    ask,
    parse_requirements,
    recommendation_text,
    trade_off,
)
from models.errors import FieldError, UserError
from models.laws import recommend as recommend_weights
from tests.components.report.simulated_run import recommended_on_chrf


@pytest.fixture(name="laws", scope="module")
def _laws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laws")
    rng = np.random.default_rng(3)
    with open(folder / "runs.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "n", "p", "loss"])
        for n in (2e6, 5e6, 1.1e7, 3e7, 8e7):
            for p in (0.1, 0.25, 0.5, 0.8, 0.95):
                for task, own, floor in (("en-de", p, 1.3), ("en-zh", 1 - p, 1.7)):
                    f = own + 0.3 * own * (1 - own)
                    value = 0.9 * (f * n / 1e6) ** -0.3 + floor
                    noisy = value + 0.002 * rng.standard_normal()
                    writer.writerow([task, n, own, noisy])
    config = fit.Config(draws=100)
    fit.run(config, table=folder / "runs.csv", output=folder / "fit")
    return folder / "fit"


def test_frontier_and_weights_are_written(laws: Path, tmp_path: Path) -> None:
    config = Config(n=1e9, points=19, prefer={"en-de": 2, "en-zh": 1})
    recommend.run(config, laws=laws, output=tmp_path / "recommend")
    with open(tmp_path / "recommend" / "frontier.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {float(line["n"]) for line in lines} == {2e6, 8e7, 1e9}
    assert len(lines) == 3 * 19 * 2
    for line in lines:
        assert float(line["low"]) <= float(line["loss"]) <= float(line["high"])
    record = json.loads((tmp_path / "recommend" / "recommendation.json").read_text())
    assert sum(record["weights"].values()) == pytest.approx(1)
    assert record["weights"]["en-de"] > 0.55
    low, high = record["weight_intervals"]["en-de"]
    assert low <= record["weights"]["en-de"] <= high
    assert record["alternatives"][0]["name"] == "uniform"
    assert record["alternatives"][0]["exceeds_uncertainty"] is True


def test_the_text_says_what_is_gained(laws: Path) -> None:
    known = trade_off(laws, Config()).laws
    sizes = {"en-de": 5e6, "en-zh": 2e5}
    text = recommendation_text(recommend_weights(known, 1e9, examples=sizes))
    for part in ("weight 0.", "proportional", "temperature 5", "weights by"):
        assert part in text


def test_questions_that_cannot_be_answered_are_refused(
    laws: Path, tmp_path: Path
) -> None:
    def ask(config: Config, source: Path = laws) -> None:
        recommend.run(config, laws=source, output=tmp_path / "out")

    with pytest.raises(UserError, match="prefer: unknown task en-fr"):
        ask(Config(prefer={"en-fr": 1}))
    with pytest.raises(
        UserError, match="no law of test set news; these laws have in_domain"
    ):
        ask(Config(test_set="news"))
    with pytest.raises(UserError, match="no such law file"):
        ask(Config(), tmp_path / "none.json")
    with pytest.raises(FieldError, match="n: 0; expected a positive number"):
        Config(n=0.0)
    with pytest.raises(FieldError, match="level"):
        Config(level=95.0)


def test_laws_without_a_capacity_function_cannot_recommend(
    laws: Path, tmp_path: Path
) -> None:
    only_joint = fit.Config(laws=("joint",), draws=0)
    fit.run(only_joint, table=laws.parent / "runs.csv", output=tmp_path / "fit")
    with pytest.raises(UserError, match="no approximate law"):
        recommend.run(Config(), laws=tmp_path / "fit", output=tmp_path / "out")


def test_objectives_requirements_and_caps_reach_the_answer(
    laws: Path, tmp_path: Path
) -> None:
    config = Config(
        n=1e9,
        objective="regret",
        require=("en-zh<=1.99",),
        examples={"en-de": 1e9, "en-zh": 1e6},
        max_repeats=4,
        planned_examples=1e7,
    )
    recommend.run(config, laws=laws, output=tmp_path / "out")
    record = json.loads((tmp_path / "out" / "recommendation.json").read_text())
    assert record["objective"] == "regret"
    assert record["requirements"] == {"en-zh": 1.99}
    assert record["weights"]["en-zh"] <= 0.4 + 1e-9
    assert record["unconstrained"]["en-zh"] > 0.4
    with pytest.raises(FieldError, match="max_repeats: needs examples"):
        Config(max_repeats=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("en-zh=1.9", "expected task<=loss, as en-zh<=1.9"),
        ("en-zh<=low", "expected task<=loss"),
        ("en-fr<=1.9", "unknown task en-fr; these laws know en-de, en-zh"),
        ("en-zh>=1.9", "expected en-zh<=1.9"),
    ],
)
def test_requirements_that_are_none_are_refused(
    laws: Path, text: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        parse_requirements((text,), trade_off(laws, Config()).laws)


@pytest.fixture(name="chrf_run", scope="module")
def _chrf_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "chrf"
    recommended_on_chrf(folder)
    return folder


def test_the_recommendation_counts_upwards_for_a_rising_metric(chrf_run: Path) -> None:
    found = json.loads((chrf_run / "recommend" / "recommendation.json").read_text())
    losses, uniform = found["losses"], found["alternatives"][0]
    assert found["feasible"] and losses["en-zh"] >= 48 - 1e-4
    assert found["believed"] == pytest.approx(losses["en-de"])  # all of the preference
    assert found["value"] == pytest.approx(found["believed"] - found["optimism"])
    assert uniform["gain"] == pytest.approx(found["value"] - uniform["objective"])
    assert uniform["gain"] > 0


def test_what_cannot_be_reached_is_said_with_the_nearest(chrf_run: Path) -> None:
    config = Config(n=1e9, require=("en-zh>=70",))
    with pytest.raises(UserError, match=r"en-zh>=70 \(nearest ") as caught:
        ask(config, trade_off(chrf_run / "fit", config), 1e9)
    assert float(re.search(r"nearest ([\d.]+)", str(caught.value))[1]) < 70
