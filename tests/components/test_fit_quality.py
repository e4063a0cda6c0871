"""Quality against loss: a curve for each original language, in the fit of a table."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from components import fit
from components.fit import law_file
from models.errors import UserError
from models.laws import Query, find

SIZES = (2e7, 6e7, 1.5e8, 4e8)


def table(path: Path, change: dict[int, str] | None = None) -> Path:
    """BLEU is a power of the loss on target-original text, chrF linear in it."""
    rng = np.random.default_rng(4)
    lines = ["trial,task,origin,p,n,loss,bleu,chrf"]
    for p in (0.3, 0.6, 1.0):
        for n in SIZES:
            loss = 1.3 + 0.5 * (p * n / 1e8) ** -0.3 + 0.001 * rng.standard_normal()
            for origin, bleu in (
                ("target", 60 * loss**-1.4),
                ("source", 30 - 4 * loss),
            ):
                bleu += 0.01 * rng.standard_normal()
                chrf = f"{90 - 12 * loss:.5f}" if origin == "source" else ""
                lines.append(
                    f"r{p}_{n:g},en-de,{origin},{p},{n:g},{loss:.6f},{bleu:.5f},{chrf}"
                )
    for row, text in (change or {}).items():
        lines[row] = text
    path.write_text("\n".join(lines) + "\n")
    return path


def curves(folder: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with open(folder / "quality.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["metric"], row["origin"], row["kind"]): row for row in rows}


def test_each_original_language_has_its_own_curve(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    fit.run(fit.Config(draws=0), table=table(tmp_path / "t.csv"), output=out)
    found = curves(out)
    assert len(found) == 6  # chrF was measured on source-original text alone
    power = found["bleu", "target", "power"]
    assert float(power["first"]) == pytest.approx(60, rel=2e-3)
    assert float(power["second"]) == pytest.approx(1.4, abs=0.01)
    error = float(power["second_error"])
    assert 0 < error < 0.01 and abs(float(power["second"]) - 1.4) < 4 * error
    line = found["chrf", "source", "linear"]
    assert float(line["second"]) == pytest.approx(-12, abs=0.01)
    better = {key for key, row in found.items() if row["better"] == "yes"}
    assert better == {
        ("bleu", "target", "power"),
        ("bleu", "source", "linear"),
        ("chrf", "source", "linear"),
    }
    assert {row["points"] for row in found.values()} == {"12"}
    report = (out / "report.txt").read_text()
    assert "quality against loss" in report
    assert "bleu en-de in_domain:target" in report and "loss^-(1.4" in report


def test_a_held_out_size_is_in_no_curve(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    config = fit.Config(draws=0, held_out=fit.HeldOut(sizes=("4e+08",)))
    fit.run(config, table=table(tmp_path / "t.csv"), output=out)
    assert {row["points"] for row in curves(out).values()} == {"9"}


def test_a_table_of_losses_alone_has_no_such_file(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv")
    lines = [line.rsplit(",", 2)[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    fit.run(fit.Config(draws=0), table=path, output=tmp_path / "fit")
    assert not (tmp_path / "fit" / "quality.csv").exists()


def test_a_metric_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", {3: "x,en-de,target,0.3,2e7,2.1,high,"})
    with pytest.raises(UserError, match=r"t.csv: row 4, column bleu: 'high'; expected"):
        fit.run(fit.Config(draws=0), table=path, output=tmp_path / "fit")


def judged(path: Path, score: str = "") -> Path:
    """BLEURT linear in the loss, below 0 for the smallest models."""
    lines = ["trial,task,p,n,loss,bleurt"]
    for p in (0.1, 0.3, 0.6, 1.0):
        for n in (*SIZES, 1e9):
            loss = 1.3 + 0.5 * (p * n / 1e8) ** -0.3
            lines.append(f"r{p}_{n:g},en-de,{p},{n:g},{loss},{1.27 - 0.6 * loss}")
    if score:
        lines[3] = lines[3].rpartition(",")[0] + f",{score}"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_scores_of_judges_may_be_negative(tmp_path: Path) -> None:
    path, out = judged(tmp_path / "t.csv"), tmp_path / "fit"
    fit.run(fit.Config(draws=0, metric="bleurt"), table=path, output=out)
    law = find(law_file.load(out).laws, "joint", "en-de")
    # 1 - bleurt = .6 * .5 (p n / 1e8)**-.3 + .51
    assert law.parameters["alpha"] == pytest.approx(0.3, rel=1e-3)
    assert law.parameters["irreducible_loss"] == pytest.approx(0.51, rel=1e-3)
    smallest = 1.27 - 0.6 * (1.3 + 0.5 * (0.1 * SIZES[0] / 1e8) ** -0.3)
    assert smallest < 0
    assert law.predict(Query(SIZES[0], 0.1)) == pytest.approx(smallest, abs=1e-3)
    # A power of the loss is positive: of these there is the line alone.
    assert set(curves(out)) == {("bleurt", "", "linear")}
    assert float(curves(out)["bleurt", "", "linear"]["second"]) == pytest.approx(-0.6)


def test_a_score_above_its_ceiling_is_refused(tmp_path: Path) -> None:
    path = judged(tmp_path / "t.csv", "61.2")  # in percent
    config = fit.Config(draws=0, metric="bleurt")
    with pytest.raises(UserError, match="row 4, column bleurt: 61.2; expected at most"):
        fit.run(config, table=path, output=tmp_path / "fit")


@pytest.mark.parametrize("score", ["100", "100.00000000000004"])
def test_a_score_at_its_ceiling_is_left_out_and_said(
    tmp_path: Path, caplog, score: str
) -> None:
    path = table(tmp_path / "t.csv", {3: f"x,en-de,target,0.3,2e7,2.1,{score},"})
    config = fit.Config(draws=0, metric="bleu")
    fit.run(config, table=path, output=tmp_path / "fit")
    assert "row 4, column bleu: at its highest value, 100" in caplog.text
    laws = law_file.load(tmp_path / "fit").laws
    kept = [law.statistics["n_points"] for law in laws if law.kind == "approximate"]
    assert sum(kept) == 2 * 3 * len(SIZES) - 1


def test_a_negative_bleu_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", {3: "x,en-de,target,0.3,2e7,2.1,-1,"})
    config = fit.Config(draws=0, metric="bleu")
    with pytest.raises(UserError, match="row 4, column bleu: -1; expected 0 or more"):
        fit.run(config, table=path, output=tmp_path / "fit")


def test_too_few_values_are_a_note(tmp_path: Path, caplog) -> None:
    path = table(tmp_path / "t.csv")
    kept = path.read_text().splitlines()
    cut = [row.rsplit(",", 1)[0] + "," if k > 4 else row for k, row in enumerate(kept)]
    path.write_text("\n".join(cut) + "\n")
    fit.run(fit.Config(draws=0), table=path, output=tmp_path / "fit")
    assert "chrf of en-de/in_domain: quality law: 2 distinct points, needs 3" in (
        caplog.text
    )
    assert not any(
        math.isnan(float(r["r2"])) for r in curves(tmp_path / "fit").values()
    )
