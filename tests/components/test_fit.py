"""``fit`` from a CSV to laws on disk, and every mistake a table can hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from components import fit
from components.fit import law_file
from components.fit.config import Config, HeldOut
from components.fit.prediction import (
    predict,
    predict_table,
    prediction_json,
    prediction_text,
)
from models.errors import FieldError, UserError
from models.laws import Law, Query, find, find_all

SIZES = {"2k": 2016, "4k": 4120, "8k": 8352, "16k": 16448, "64k": 66304}
WEIGHTS = (0.0, 0.1, 0.3, 0.4, 0.7, 0.9, 1.0)
TRUTH = {"en-de": (0.30, 1.1, 1.2), "en-fr": (0.26, 0.9, 1.5)}
SMALL = Config(draws=20)


def loss(task: str, n: float, p: float) -> float:
    alpha, beta, floor = TRUTH[task]
    f = p + 0.4 * p**0.8 * (1 - p) ** 1.2
    return beta * (max(f, 1e-3) * n / 1e4) ** -alpha + floor


def rows(noise: float = 0.003) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    found = []
    for size, n in SIZES.items():
        for p in WEIGHTS:
            for task, own in (("en-de", p), ("en-fr", 1 - p)):
                value = loss(task, n, own) + noise * rng.standard_normal()
                found.append(
                    {
                        "trial": f"en-xx_{size}_p{p:.2f}_s0",
                        "size": size,
                        "task": task,
                        "n": n,
                        "p": f"{own:g}",
                        "mixture": f"en-de={p:g},en-fr={1 - p:g}",
                        "test_set": "in_domain",
                        "loss_kind": "final",
                        "loss": f"{value:.6f}",
                    }
                )
    return found


def write(path: Path, content: list[dict[str, object]]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(content[0]))
        writer.writeheader()
        writer.writerows(content)
    return path


def laws_of(folder: Path) -> tuple[Law, ...]:
    return law_file.load(folder).laws


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> Path:
    return write(tmp_path / "runs.csv", rows())


def test_a_table_becomes_laws_coefficients_and_a_report(
    table: Path, tmp_path: Path
) -> None:
    manifest = fit.run(SMALL, table=table, output=tmp_path / "fit")
    laws = laws_of(tmp_path / "fit")
    assert len(find_all(laws, "individual", "en-de")) == 6
    joint = find(laws, "joint", "en-fr")
    assert joint.parameters["alpha"] == pytest.approx(0.26, abs=0.02)
    assert joint.statistics["r2"] > 0.999
    assert manifest.counts["laws"] == len(laws) == 16
    text = (tmp_path / "fit" / "report.txt").read_text()
    assert "10 zero-shot rows (p = 0) left out" in text
    assert "effective fraction of en-de" in text
    with open(tmp_path / "fit" / "coefficients.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    alpha = [r for r in lines if (r["kind"], r["name"]) == ("joint", "alpha")]
    assert [r["task"] for r in alpha] == ["en-de", "en-fr"]
    assert float(alpha[0]["low"]) < float(alpha[0]["value"]) < float(alpha[0]["high"])


def test_laws_come_back_from_disk_as_they_were(table: Path, tmp_path: Path) -> None:
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    first = laws_of(tmp_path / "fit")
    law_file.save(tmp_path / "again.json", law_file.LawFile(first))
    for one, other in zip(first, laws_of(tmp_path / "again.json"), strict=True):
        p = one.weightings[0].mixture
        assert one.parameters == other.parameters
        assert one.predict(Query(1e6, p)) == other.predict(Query(1e6, p))
        assert one.interval(Query(1e6, p)) == other.interval(Query(1e6, p))
        np.testing.assert_array_equal(one.draws, other.draws)
        assert str(one) == str(other)


def test_held_out_runs_never_reach_the_fit(table: Path, tmp_path: Path) -> None:
    held_out = HeldOut(sizes=("64k",), mixtures=(0.4,))
    config = Config(draws=20, held_out=held_out)
    fit.run(config, table=table, output=tmp_path / "fit")
    laws = laws_of(tmp_path / "fit")
    assert all(law.fitted_range["n"][1] == SIZES["16k"] for law in laws)
    joint = find(laws, "joint", "en-de")
    assert [w.label for w in joint.weightings] == ["0.1", "0.3", "0.7", "0.9", "1"]
    spoiled = rows()
    for row in spoiled:
        if row["size"] == "64k" or row["mixture"].startswith("en-de=0.4"):
            row["loss"] = "9.9"
    other = write(tmp_path / "spoiled.csv", spoiled)
    fit.run(config, table=other, output=tmp_path / "other")
    assert find(laws_of(tmp_path / "other"), "joint", "en-de").parameters == (
        joint.parameters
    )


def test_held_out_runs_are_predicted_by_the_laws_that_can(
    table: Path, tmp_path: Path
) -> None:
    held_out = HeldOut(sizes=("64k",), mixtures=({"en-de": 0.4, "en-fr": 0.6},))
    fit.run(Config(draws=20, held_out=held_out), table=table, output=tmp_path / "fit")
    with open(tmp_path / "fit" / "held_out.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    by_kind = {(r["kind"], r["law"]) for r in lines}
    assert by_kind == {
        ("size", "joint"),
        ("size", "approximate"),
        ("mixture", "approximate"),
    }
    assert {r["size"] for r in lines if r["kind"] == "mixture"} == set(SIZES)
    inside = [float(r["low"]) < float(r["loss"]) < float(r["high"]) for r in lines]
    assert np.mean(inside) > 0.8
    assert max(abs(float(r["error_percent"])) for r in lines) < 1.0
    assert "never shown to the fit" in (tmp_path / "fit" / "report.txt").read_text()


def test_four_columns_are_enough(tmp_path: Path) -> None:
    content = [{key: row[key] for key in ("task", "n", "p", "loss")} for row in rows()]
    table = write(tmp_path / "four.csv", content)
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    law = find(laws_of(tmp_path / "fit"), "approximate", "en-de")
    assert law.tasks == ("en-de", "en-fr")
    assert law.weightings[0].mixture == {"en-de": 0.1, "en-fr": 0.9}


def test_parquet_is_read_as_csv_is(table: Path, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    content = [
        row | {"p": float(row["p"]), "loss": float(row["loss"])} for row in rows()
    ]
    parquet.write_table(pyarrow.Table.from_pylist(content), tmp_path / "runs.parquet")
    fit.run(SMALL, table=table, output=tmp_path / "a")
    fit.run(SMALL, table=tmp_path / "runs.parquet", output=tmp_path / "b")
    first, second = laws_of(tmp_path / "a"), laws_of(tmp_path / "b")
    assert [law.parameters for law in first] == [law.parameters for law in second]


def test_failed_trials_and_curves_are_left_out_and_extrapolations_preferred(
    tmp_path: Path,
) -> None:
    content = rows()
    content[6]["loss"] = ""
    curve = content[8] | {"loss_kind": "curve", "loss": "7.5"}
    better = content[10] | {"loss_kind": "extrapolated"}
    content[10]["loss"] = "8.5"
    table = write(tmp_path / "runs.csv", [*content, curve, better])
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    text = (tmp_path / "fit" / "report.txt").read_text()
    assert "1 row without loss left out: en-xx_2k_p0.40_s0" in text
    assert "1 final loss replaced by extrapolation" in text
    law = find(laws_of(tmp_path / "fit"), "joint", "en-de")
    assert law.statistics["max_abs_error"] < 0.05


def test_test_sets_get_their_own_laws(tmp_path: Path) -> None:
    news = [
        row | {"test_set": "news", "loss": f"{float(row['loss']) + 0.3:.6f}"}
        for row in rows()
    ]
    table = write(tmp_path / "runs.csv", rows() + news)
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    laws = laws_of(tmp_path / "fit")
    gap = [
        find(laws, "joint", "en-de", name).parameters["irreducible_loss"]
        for name in ("news", "in_domain")
    ]
    assert gap[0] - gap[1] == pytest.approx(0.3, abs=0.01)
    fit.run(Config(draws=0, test_sets=("news",)), table=table, output=tmp_path / "news")
    assert {law.test_set for law in laws_of(tmp_path / "news")} == {"news"}


def test_fitting_twice_is_fitting_once(table: Path, tmp_path: Path) -> None:
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    before = (tmp_path / "fit" / "laws.json").stat().st_mtime_ns
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    assert (tmp_path / "fit" / "laws.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (3, {"n": "-5"}, r"row 5, column n: -5; expected a positive number"),
        (3, {"n": "0"}, r"row 5, column n: 0; expected a positive number"),
        (2, {"n": "two"}, r"row 4, column n: 'two'; expected a number"),
        (0, {"loss": "-1"}, r"row 2, column loss: -1; expected 0 or more"),
        (1, {"p": "1.2"}, r"row 3, column p: 1.2; expected a probability"),
        (4, {"p": "0.9"}, r"column p: 0.9, but the mixture gives en-de 0.3"),
        (4, {"mixture": "en-de=0.3,en-fr=0.8"}, r"column mixture: .*sum to 1.1"),
        (4, {"mixture": "en-de:0.3"}, r"row 6, column mixture: .*cannot read"),
        (5, {"loss_kind": "best"}, r"column loss_kind: 'best'; expected final"),
    ],
)
def test_a_bad_cell_is_named_with_row_and_column(
    tmp_path: Path, row: int, change: dict, message: str
) -> None:
    content = rows()
    content[row] |= change
    table = write(tmp_path / "runs.csv", content)
    with pytest.raises(UserError, match=message) as caught:
        fit.run(SMALL, table=table, output=tmp_path / "fit")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "fit").exists()


def test_tables_that_are_none_are_refused(tmp_path: Path) -> None:
    content = rows()
    double = write(tmp_path / "double.csv", [*content, content[3]])
    with pytest.raises(UserError, match="row 72: the same trial.*as row 5"):
        fit.run(SMALL, table=double, output=tmp_path / "fit")
    bare = write(tmp_path / "bare.csv", [{"task": "a", "p": 1, "loss": 2}])
    with pytest.raises(
        UserError, match="no column n; the table has task, p, loss; try"
    ):
        fit.run(SMALL, table=bare, output=tmp_path / "fit")
    one = write(tmp_path / "one.csv", [row for row in content if row["size"] == "2k"])
    with pytest.raises(
        UserError, match="one.csv: column n: 2016 in every row; expected 3 or more"
    ):
        fit.run(SMALL, table=one, output=tmp_path / "fit")
    with pytest.raises(UserError, match="no such table"):
        fit.run(SMALL, table=tmp_path / "none.csv", output=tmp_path / "fit")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\x00\xff")
    with pytest.raises(UserError, match="cannot be read as a table"):
        fit.run(SMALL, table=tmp_path / "picture.csv", output=tmp_path / "fit")


def test_held_out_names_that_do_not_exist_are_refused(
    table: Path, tmp_path: Path
) -> None:
    config = Config(held_out=HeldOut(sizes=("32k",)))
    with pytest.raises(UserError, match="held-out size 32k is not in the table"):
        fit.run(config, table=table, output=tmp_path / "fit")
    config = Config(held_out=HeldOut(mixtures=(0.25,)))
    with pytest.raises(UserError, match="no row has a held-out mixture"):
        fit.run(config, table=table, output=tmp_path / "fit")
    with pytest.raises(FieldError, match="expected 0 to 1"):
        HeldOut(mixtures=(1.5,))


def test_law_files_that_are_none_or_newer_are_refused(
    table: Path, tmp_path: Path
) -> None:
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    path = tmp_path / "fit" / "laws.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"version": 2}))
    with pytest.raises(UserError, match="version 2, this polyscale reads up to 1"):
        law_file.load(path)
    path.write_text(json.dumps(record | {"laws": [{"kind": "joint"}]}))
    with pytest.raises(UserError, match="damaged law file"):
        law_file.load(path)
    for text in ("{", "[]", '{"format": "other"}'):
        path.write_text(text)
        with pytest.raises(UserError, match="not a law file"):
            law_file.load(path)


def test_predictions_at_a_point_and_for_a_table(table: Path, tmp_path: Path) -> None:
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    found = predict(tmp_path / "fit" / "laws.json", 5e5, {"en-de": 0.25})
    assert [(one.task, one.p) for one in found] == [("en-de", 0.25), ("en-fr", 0.75)]
    assert found[0].predicted == pytest.approx(loss("en-de", 5e5, 0.25), abs=0.03)
    assert found[0].low < found[0].predicted < found[0].high
    assert "7.54x the largest fitted size" in prediction_text(found)
    assert json.loads(prediction_json(found))[1]["task"] == "en-fr"
    points = write(
        tmp_path / "points.csv",
        [
            {"task": "en-de", "n": 30000, "p": 0.5, "loss": 2.0},
            {"task": "en-fr", "n": 90000, "p": 0.2, "loss": ""},
        ],
    )
    lines = list(csv.DictReader(predict_table(tmp_path / "fit", points).splitlines()))
    assert float(lines[0]["error"]) == pytest.approx(float(lines[0]["predicted"]) - 2)
    assert lines[1]["error"] == "" and float(lines[1]["high"]) > 0


def test_impossible_predictions_are_refused(table: Path, tmp_path: Path) -> None:
    fit.run(SMALL, table=table, output=tmp_path / "fit")
    laws = tmp_path / "fit"
    with pytest.raises(UserError, match="unknown task en-zh; these laws know en-de"):
        predict(laws, 1e6, {"en-zh": 1.0})
    with pytest.raises(UserError, match="sum to 1.1"):
        predict(laws, 1e6, {"en-de": 0.3, "en-fr": 0.8})
    with pytest.raises(UserError, match="n: 0; expected a positive"):
        predict(laws, 0.0, {"en-de": 0.3})
    points = write(tmp_path / "p.csv", [{"task": "en-zh", "n": 1e4, "p": 0.5}])
    with pytest.raises(UserError, match="row 2: no law of en-zh"):
        predict_table(laws, points)
