"""Convergence, sharing, conditions, shapes and simulated tables through ``fit``."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from components import fit
from components.fit import Config, Convergence, law_file
from components.fit.simulation import SIZES, simulate_table, truth
from models.errors import FieldError, UserError
from models.laws import Query, find, find_all


def write(path: Path, rows: list[dict]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def fitted(config: Config, table: Path, folder: Path) -> tuple:
    fit.run(config, table=table, output=folder)
    return law_file.load(folder).laws, (folder / "report.txt").read_text()


@pytest.mark.parametrize("tasks", [2, 3])
def test_a_simulated_table_gives_its_law_back(tasks: int, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(simulate_table(tasks, noise=0.001, seed=3))
    config = Config(draws=0, laws=("joint", "approximate"))
    laws, _ = fitted(config, tmp_path / "runs.csv", tmp_path / "fit")
    for index, task in enumerate(("en-de", "en-zh", "en-fr")[:tasks]):
        for kind in ("joint", "approximate"):
            law = find(laws, kind, task)
            for name in ("alpha", "irreducible_loss"):
                one = law.coefficients(level=0.9999)[name]
                assert one.low < truth(index)[name] < one.high


def test_the_same_seed_simulates_the_same_table() -> None:
    assert simulate_table(2, seed=4) == simulate_table(2, seed=4)
    assert simulate_table(2, seed=4) != simulate_table(2, seed=5)
    for arguments in ({"tasks": 0}, {"noise": -1.0}, {"seed": -1}):
        with pytest.raises(UserError, match="expected"):
            simulate_table(**arguments)


def curve_table() -> list[dict]:
    """Runs at p = .05 that are still falling when they stop at step 20,000."""
    rows = []
    for size, n in list(SIZES.items())[:5]:
        for p in (0.05, 0.5, 1.0):
            end = 1.2 + 0.5 * (p * n / 1e8) ** -0.3
            slow = 40.0 if p == 0.05 else 0.0
            row = {"trial": f"{size}_{p}", "size": size, "n": n, "task": "en-de"}
            row |= {"p": p, "test_set": "in_domain"}
            for step in range(1000, 20001, 1000):
                loss = end + slow * step**-0.7
                kinds = ("curve", "final") if step == 20000 else ("curve",)
                for kind in kinds:
                    rows.append(row | {"step": step, "loss": loss, "loss_kind": kind})
    return rows


def test_runs_with_a_small_weight_are_extrapolated_and_it_is_said(
    tmp_path: Path,
) -> None:
    table = write(tmp_path / "runs.csv", curve_table())
    far = Config(draws=0, laws=("joint",), convergence=Convergence(horizon=1000.0))
    laws, text = fitted(far, table, tmp_path / "far")
    assert "5 losses of runs with p <= 0.05 extrapolated to 1000x" in text
    assert laws[0].parameters["alpha"] == pytest.approx(0.3, abs=0.01)
    with open(tmp_path / "far" / "extrapolated.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["loss_kind"] for line in lines} == {"extrapolated"}
    assert all(float(r["low"]) <= float(r["loss"]) <= float(r["high"]) for r in lines)
    none = Config(draws=0, laws=("joint",), convergence=Convergence(horizon=1.0))
    laws, text = fitted(none, table, tmp_path / "none")
    assert "extrapolated" not in text
    assert not (tmp_path / "none" / "extrapolated.csv").exists()
    with pytest.raises(FieldError, match="horizon: 0.5; expected 1 or more"):
        Convergence(horizon=0.5)


def apart(conditions: bool = False) -> list[dict]:
    """Weightings that do not share an irreducible loss, or data of two sizes."""
    rng = np.random.default_rng(5)
    rows = []
    for size, n in list(SIZES.items())[:5]:
        for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
            for data in (1, 10) if conditions else (1,):
                floor = 1.2 + 0.5 * np.sin(9 * p) + 0.3 / data
                loss = floor + 0.5 * (p * n / 1e8) ** -0.3 + 0.001 * rng.normal()
                row = {"trial": f"{size}_{p}_{data}", "task": "en-de", "n": n, "p": p}
                rows.append(row | {"loss": f"{loss:.5f}", "data": data})
    return rows


def test_equation_7_is_rejected_where_it_is_wrong(tmp_path: Path) -> None:
    table = write(tmp_path / "runs.csv", apart())
    laws, text = fitted(Config(draws=0), table, tmp_path / "fit")
    assert "the back-test rejects one alpha and irreducible loss" in text
    assert "persistence" in text and "<- chosen" in text
    assert find(laws, "shared", "en-de").form == "alpha"


def test_columns_can_set_runs_apart(tmp_path: Path) -> None:
    table = write(tmp_path / "runs.csv", apart(conditions=True))
    config = Config(draws=0, laws=("individual",), by=("data",))
    laws, _ = fitted(config, table, tmp_path / "fit")
    assert len(find_all(laws, "individual")) == 12
    assert max(law.statistics["rmse"] for law in laws if law.kind != "shared") < 0.01
    found, text = fitted(
        Config(draws=0, laws=("individual",)), table, tmp_path / "auto"
    )
    assert "differ in data: each of its values has its own curve" in text
    assert [law.parameters for law in found] == [law.parameters for law in laws]
    with pytest.raises(UserError, match="no column epochs to set runs apart by"):
        fitted(Config(by=("epochs",)), table, tmp_path / "other")


def test_perturbation_changes_the_errors_of_every_law(tmp_path: Path) -> None:
    table = write(tmp_path / "runs.csv", apart())
    errors = []
    for uncertainty in ("t", "perturbation"):
        config = Config(draws=60, laws=("individual", "joint"), uncertainty=uncertainty)
        laws, _ = fitted(config, table, tmp_path / uncertainty)
        errors.append(
            [law.standard_errors["alpha"] for law in find_all(laws, "individual")]
        )
    # 1 % of each loss is some ten times the noise of these runs.
    assert all(b > 3 * a for a, b in zip(*errors, strict=True))


def test_encoder_and_decoder_sizes_give_a_bivariate_law(tmp_path: Path) -> None:
    rows = []
    for enc in (4e7, 1.3e8, 5e8):
        for dec in (5e7, 1.5e8, 6e8):
            loss = 1.1 + 0.5 * (enc / 1e8) ** -0.1 * (dec / 1e8) ** -0.3
            row = {"task": "en-de", "n": enc + dec, "p": 1, "loss": loss}
            rows.append(row | {"n_enc": enc, "n_dec": dec})
    table = write(tmp_path / "runs.csv", rows)
    laws, text = fitted(Config(draws=0, laws=("bivariate",)), table, tmp_path / "fit")
    assert laws[0].optimal_split(4e8) == pytest.approx((1e8, 3e8), rel=1e-3)
    assert "[N] eq. 1" in text
    bare = write(tmp_path / "bare.csv", [{k: r[k] for k in list(r)[:4]} for r in rows])
    with pytest.raises(UserError, match="needs the columns n_enc and n_dec"):
        fitted(Config(laws=("bivariate",)), bare, tmp_path / "bare")


def test_one_size_is_refused_unless_only_weights_are_asked_for(tmp_path: Path) -> None:
    rows = [row for row in apart() if row["n"] == SIZES["19M"]]
    table = write(tmp_path / "runs.csv", rows)
    with pytest.raises(
        UserError, match="column n: .* in every row; expected 3 or more"
    ):
        fitted(Config(draws=0), table, tmp_path / "fit")
    config = Config(draws=0, laws=("approximate",), capacity="linear", single_size=True)
    laws, _ = fitted(config, table, tmp_path / "fit")
    assert any("1 model size;" in text for text in laws[0].warnings)


def test_bleu_is_fitted_by_its_distance_to_the_ceiling(tmp_path: Path) -> None:
    rows = [
        {
            "task": "en-de",
            "n": n,
            "p": p,
            "loss": 2,
            "bleu": 40 - 4 * (p * n / 1e8) ** -0.4,
        }
        for n in list(SIZES.values())[:5]
        for p in (0.1, 0.3, 0.6, 1.0)
    ]
    table = write(tmp_path / "runs.csv", rows)
    laws, _ = fitted(Config(draws=0, metric="bleu"), table, tmp_path / "fit")
    law = find(laws, "joint", "en-de")
    assert law.parameters["irreducible_loss"] == pytest.approx(60, rel=1e-3)
    assert law.predict(Query(1e12, 1.0)) == pytest.approx(40, abs=1)
