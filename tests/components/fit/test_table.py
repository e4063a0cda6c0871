"""Tables of other people: read as they are, or refused with what mends them."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from components.fit import table
from models.errors import UserError

SIZES = (1e6, 2e6, 4e6, 8e6)
WEIGHTS = (0.3, 0.5, 1.0)


def loss(n: float, p: float) -> float:
    return round(1.2 + (p * n / 1e6) ** -0.3, 6)


def rows() -> list[dict[str, object]]:
    return [
        {"task": "en-de", "n": n, "p": p, "loss": loss(n, p)}
        for n in SIZES
        for p in WEIGHTS
    ]


def text(rows: list[dict[str, object]], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def values(lines: list[table.Line]) -> list[tuple]:
    return [(line["task"], line["n"], line["p"], line["loss"]) for line in lines]


EXPECTED = [("en-de", n, p, loss(n, p)) for n in SIZES for p in WEIGHTS]


def _semicolons(folder: Path) -> Path:
    path = folder / "t.csv"
    decimal_commas = [
        {k: str(v).replace(".", ",") for k, v in row.items()} for row in rows()
    ]
    path.write_text(text(decimal_commas, ";"), encoding="utf-8")
    return path


def _tabs_in_utf16(folder: Path) -> Path:
    path = folder / "t.tsv"
    path.write_text(text(rows(), "\t"), encoding="utf-16")
    return path


def _with_byte_order_mark_and_capitals(folder: Path) -> Path:
    path = folder / "t.csv"
    renamed = [{k.capitalize(): v for k, v in row.items()} for row in rows()]
    path.write_text(text(renamed), encoding="utf-8-sig")
    return path


def _json_lines(folder: Path) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


def _suffixes_and_percent(folder: Path) -> Path:
    path = folder / "t.csv"
    shown = [
        row | {"n": f"{row['n'] / 1e6:g}M", "p": f"{row['p']:.0%}"} for row in rows()
    ]
    path.write_text(text(shown))
    return path


def _percent_without_sign(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text(text([row | {"p": 100 * row["p"]} for row in rows()]))
    return path


def _parquet(folder: Path) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows()), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize(
    "write",
    [_semicolons, _tabs_in_utf16, _with_byte_order_mark_and_capitals, _json_lines,
     _suffixes_and_percent, _percent_without_sign, _parquet],
)  # fmt: skip
def test_a_table_reads_the_same_in_any_form(tmp_path, write):
    assert values(table.read(write(tmp_path))) == EXPECTED


def test_standard_input_is_a_dash(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(text(rows()).encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert values(table.read(Path("-"))) == EXPECTED


def test_columns_with_other_names_are_named_by_the_user(tmp_path):
    path = tmp_path / "t.csv"
    renamed = [
        {"language": r["task"], "params": r["n"], "p": r["p"], "val_loss": r["loss"]}
        for r in rows()
    ]
    path.write_text(text(renamed))
    hint = "try --columns task=language,n=params,loss=val_loss"
    with pytest.raises(UserError, match=hint):
        table.read(path)
    columns = {"task": "language", "n": "params", "loss": "val_loss"}
    assert values(table.read(path, columns=columns)) == EXPECTED
    with pytest.raises(UserError, match="no column parms; the table has language"):
        table.read(path, columns={"n": "parms"})


@pytest.mark.parametrize("prefix", ["", "p_", "weight_"])
def test_columns_of_weights_are_the_mixture(tmp_path, prefix):
    path = tmp_path / "t.csv"
    tasks = ("en-de", "en-fr", "en-zh")
    weights = (0.33, 0.33, 0.33)
    columns = {f"{prefix}{t}": w for t, w in zip(tasks, weights, strict=True)}
    path.write_text(text([{"task": t, "n": 1e6, "loss": 2, **columns} for t in tasks]))
    notes: list[str] = []
    lines = table.read(path, notes=notes)
    third = pytest.approx(1 / 3)
    assert [line["mixture"] for line in lines] == [dict.fromkeys(tasks, third)] * 3
    assert [line["p"] for line in lines] == [third] * 3
    assert notes == ["the weights of 3 rows were rounded; divided by their sum"]


def test_seventeen_rounded_weights_are_a_mixture(tmp_path):
    path = tmp_path / "t.csv"
    raw = {f"t{k}": math.exp(-k / 5) for k in range(17)}
    shown = {t: round(w / sum(raw.values()), 3) for t, w in raw.items()}
    assert sum(shown.values()) != 1
    mixture = ",".join(f"{task}={weight}" for task, weight in shown.items())
    path.write_text(
        text([{"task": t, "n": 1e6, "mixture": mixture, "loss": 2} for t in shown])
    )
    (line, *_) = table.read(path)
    assert sum(line["mixture"].values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("weights", [(0.3, 0.5), (0.3, 0.8), (0.7, 0.5)])
def test_weights_that_rounding_does_not_explain_are_refused(tmp_path, weights):
    path = tmp_path / "t.csv"
    mixture = "en-de={},en-fr={}".format(*weights)
    path.write_text(text([{"task": "en-de", "n": 1e6, "mixture": mixture, "loss": 2}]))
    total = f"{sum(weights):g}"
    with pytest.raises(UserError, match=rf"row 2, column mixture: .*sum to {total}"):
        table.read(path)


def test_the_mixture_of_a_run_follows_from_its_rows(tmp_path):
    path = tmp_path / "t.csv"
    content = [
        {"trial": f"r{n}", "task": t, "n": n, "p": p, "loss": 2}
        for n in (10, 20)
        for t, p in (("a", 0.2), ("b", 0.5), ("c", 0.3))
    ]
    path.write_text(text(content))
    notes: list[str] = []
    lines = table.read(path, notes=notes)
    assert all(line["mixture"] == {"a": 0.2, "b": 0.5, "c": 0.3} for line in lines)
    assert notes == ["the mixture of a run is taken from the rows of its tasks"]


@pytest.mark.parametrize("name", ["step", "steps", "global_step", "iteration"])
@pytest.mark.parametrize("trial", [True, False])
def test_the_last_step_of_a_run_is_its_final_value(tmp_path, name, trial):
    path = tmp_path / "t.csv"
    content = [
        {"trial": f"r{row['n']}_{row['p']}", **row, name: step, "loss": 5 - step / 100}
        for row in rows()
        for step in (100, 300, 200)
    ]
    if not trial:
        content = [{k: v for k, v in r.items() if k != "trial"} for r in content]
    path.write_text(text(content))
    notes: list[str] = []
    lines = table.read(path, notes=notes)
    finals = [line for line in lines if line["loss_kind"] == "final"]
    assert [line["loss"] for line in finals] == [2.0] * len(EXPECTED)
    assert sum(line["loss_kind"] == "curve" for line in lines) == 2 * len(EXPECTED)
    (note,) = notes
    assert "the last step of each run is its final value; 24 rows" in note


@pytest.mark.parametrize("missing", ["NA", "NaN", "nan", "null", "", "N/A", "inf"])
def test_rows_without_a_value_are_left_out_or_kept_as_failed(tmp_path, missing):
    path = tmp_path / "t.csv"
    content = rows()
    content[3]["loss"] = missing
    if missing != "inf":
        content[5]["n"] = missing
    path.write_text(text(content))
    notes: list[str] = []
    lines = table.read(path, notes=notes)
    failed = [line for line in lines if line["loss"] is None]
    assert len(failed) == 1
    if missing != "inf":
        assert len(lines) == len(content) - 1
        assert notes == ["rows with empty cells are left out: 7 (n)"]


def test_one_task_has_one_spelling(tmp_path):
    path = tmp_path / "t.csv"
    content = rows()
    content[4]["task"] = "EN-DE"
    path.write_text(text(content))
    notes: list[str] = []
    assert values(table.read(path, notes=notes)) == EXPECTED
    assert notes == ["task EN-DE is read as en-de"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task,n,p,loss\na,1,1\n", "row 2 has 3 cells, the header has 4"),
        ("task,n,n,loss\na,1,1,2\n", "two columns are named n"),
        ('{"task": "a"\n', "line 1: not JSON"),
        ("[1, 2]\n", "no column task, n, loss"),
        ("task,n,loss\na,1,2\n", "no column p and no mixture"),
        ("task,n,p,loss\n", "no rows"),
        ("task,n,p,loss\na,1,1,-2\n", "row 2, column loss: -2; expected 0 or more"),
        ("task,n,p,mixture,loss\na,1,.3,a=.4;b=.6,2\n", "but the mixture gives a 0.4"),
        ("task,n,mixture,loss\na,1,a:0.4,2\n", "cannot read 'a:0.4'"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        table.read(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)
