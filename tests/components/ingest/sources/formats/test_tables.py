"""Tables and records: columns by name or number, and rows that are none."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from components.ingest.config import Config, TextTask
from components.ingest.sources.corpus import Columns, Corpus, Encodings
from models.errors import FieldError, UserError
from tests.components.ingest.collect import batches, pairs, texts


def test_tsv_takes_quotes_for_text_and_columns_by_name(tmp_path):
    rows = [
        "id\ten\tzh",
        '1\tHe said "go.\t他说"走。',
        "2\tIt's",
        "",
        "4\ta b\t甲 乙\tmore",
    ]
    (tmp_path / "a.tsv").write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    assert pairs(tmp_path, "en-zh", files="a.tsv") == [
        (2, 'He said "go.', '他说"走。', ""),
        (3, "2\tIt's", "", "malformed"),
        (5, "a b", "甲 乙", ""),
    ]


def test_numbered_columns_need_no_header(tmp_path):
    (tmp_path / "t.txt").write_text("Hi.\t嗨。\tCC-BY\nRun.\t跑。\tCC-BY\n")
    found = texts(tmp_path, "zh-en", files="t.txt", format="tsv", columns=Columns(2, 1))
    assert found == [("嗨。", "Hi."), ("跑。", "Run.")]


def test_csv_fields_may_hold_delimiters_line_feeds_and_quotes(tmp_path):
    (tmp_path / "a.csv").write_text(
        'source;target\n"a; ""b""";x\n"two\nlines";"zwei\nZeilen"\n'
        'last;"letzte\u2028!"\n'
    )
    found = pairs(tmp_path, "en-de", files="a.csv", columns=Columns(delimiter=";"))
    assert found == [
        (2, 'a; "b"', "x", ""),
        (3, "two lines", "zwei Zeilen", ""),
        (6, "last", "letzte\u2028!", ""),
    ]


def test_a_quote_that_is_never_closed_names_its_line(tmp_path):
    (tmp_path / "a.csv").write_text('en,de\na,b\n"open,x\n' + "more,mehr\n" * 5000)
    with pytest.raises(UserError, match=r"a\.csv: line 3: .*columns\.quoting: false"):
        texts(tmp_path, "en-de", files="a.csv")
    unquoted = texts(tmp_path, "en-de", files="a.csv", columns=Columns(quoting=False))
    assert unquoted[:3] == [("a", "b"), ('"open', "x"), ("more", "mehr")]


def test_only_the_row_with_bad_bytes_is_not_text(tmp_path):
    rows = [b"en\tde", "grün\tgreen".encode(), "grün\tgreen".encode("latin-1"), b"a\tb"]
    (tmp_path / "a.tsv").write_bytes(b"\n".join(rows))
    found = pairs(tmp_path, "de-en", files="a.tsv")
    assert found[1] == (3, "green", "gr\\xfcn", "not_text")
    assert [fault for *_, fault in found] == ["", "not_text", ""]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            Columns("english"),
            r"line 1: no column english; it has engl, german; did you mean engl",
        ),
        (Columns(), r"line 1: no column en; .*set columns\.source"),
        (Columns(1, 3), r"line 1: no column 3; it has 1, 2; set columns\.target"),
        (Columns("engl", header=False), r"line 1: no column engl; it has 1, 2; set"),
        (Columns("engl", "german", origin="who"), r"no column who"),
    ],
)
def test_columns_that_are_not_there_are_explained(tmp_path, columns, message):
    (tmp_path / "a.csv").write_text("engl,german\na,b\n")
    with pytest.raises(UserError, match=message):
        texts(tmp_path, "en-de", files="a.csv", columns=columns)


def test_a_test_set_in_a_table_has_references_origins_and_documents(tmp_path):
    (tmp_path / "a.tsv").write_text(
        "en\tde\tB\tlang\tdoc\n"
        "one\teins\tein\ten-GB\td1\n"
        "two\tzwei\t\tde\td2\n"
        "three\tdrei\ttrio\tcs\td2\n"
    )
    columns = Columns(origin="lang", references=("B",), document="doc")
    (batch,) = batches(tmp_path, "en-de", "news", files="a.tsv", columns=columns)
    assert batch.origins == ["source", "target", "mixed"]
    assert batch.details == [
        {"references": ["eins", "ein"], "document": "d1"},
        {"document": "d2"},
        {"references": ["drei", "trio"], "document": "d2"},
    ]


def test_json_lines_by_dotted_names(tmp_path):
    records = [
        {"id": 1, "translation": {"en": "a\nb", "de": "x"}},
        {"id": 2, "translation": {"en": None, "de": 7}},
        {"id": 3, "translation": {"en": ["a"], "de": "\ud800half"}},
        {"id": 4},
    ]
    lines = [json.dumps(record) for record in records]
    lines[2:2] = ["", "{broken", "[1, 2]", "\u2028"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert pairs(tmp_path, "en-de", files="a.jsonl") == [
        (1, "a b", "x", ""),
        (2, "", "7", ""),
        (4, "{broken", "", "malformed"),
        (5, "[1, 2]", "", "malformed"),
        (7, "['a']", "\\ud800half", "malformed"),
        (8, "", "", ""),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"english": "a", "de": "b"}',
            r"line 1: no column en; it has english, de; set",
        ),
        ('[{"en": "a"}]', "line 1: a list; expected JSON Lines"),
        ("", "the file is empty"),
    ],
)
def test_json_that_cannot_be_used_is_explained(tmp_path, content, message):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(UserError, match=message):
        texts(tmp_path, "en-de", files="a.jsonl")


def test_parquet_is_read_by_row_groups_and_nested_names(tmp_path):
    rows = [{"en": f"line {i}", "de": f"Zeile {i}"} for i in range(25)]
    table = pa.table(
        {"translation": rows, "more": [["r"] if i else [] for i in range(25)]}
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    found = pairs(tmp_path, "de-en", files="*.parquet")
    assert found[24] == (25, "Zeile 24", "line 24", "")
    assert [line for line, *_ in found] == list(range(1, 26))
    read = batches(tmp_path, "de-en", files="a.parquet")
    assert [len(batch.sources) for batch in read] == [10, 10, 5]
    columns = Columns(references=("more",))
    tests = batches(tmp_path, "de-en", "news", files="a.parquet", columns=columns)
    assert tests[0].details[:2] == [None, {"references": ["line 1", "r"]}]


def test_parquet_that_is_cut_off_or_without_the_column_is_explained(tmp_path):
    table = pa.table({"en": ["a"], "ger": ["b"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UserError, match="no column de; it has en, ger; set columns.t"):
        texts(tmp_path, "en-de", files="a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-20])
    with pytest.raises(UserError, match=r"a\.parquet: not a whole Parquet file"):
        texts(tmp_path, "en-de", files="a.parquet")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"source": "a"}, "target"),
        ({"files": "a", "tfds": "b"}, "tfds"),
        ({"source": "a", "target": "b", "files": "c"}, "files"),
        ({"files": "a", "encoding": "utf8000"}, "encoding"),
        ({"files": "a", "encoding": "cp037"}, "encoding"),
        ({"files": "a", "encoding": "rot13"}, "encoding"),
        ({"source": "a", "target": "b", "format": "tmx"}, "format"),
        ({"files": "a", "format": "lines"}, "format"),
    ],
)
def test_a_corpus_that_contradicts_itself_is_a_field_error(options, field):
    with pytest.raises(FieldError) as caught:
        Corpus(**options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Columns(0), "source"),
        (lambda: Columns(references=("a", -1)), "references[1]"),
        (lambda: Columns(delimiter="::"), "delimiter"),
        (lambda: Encodings(target="klingon"), "target"),
        (lambda: TextTask("a", "b", corpora=(Corpus(),)), "corpora[0]"),
        (
            lambda: TextTask("a", "b", columns=Columns(references=(3,))),
            "columns.references",
        ),
    ],
)
def test_options_that_cannot_be_used_are_field_errors(make, field):
    with pytest.raises(FieldError) as caught:
        make()
    assert caught.value.field == field


def test_a_task_without_text_is_a_mistake():
    with pytest.raises(UserError, match="no text to train on; expected source with"):
        TextTask()
    Config(source="text", text={"en-de": TextTask(corpora=(Corpus(files="a.tsv"),))})
