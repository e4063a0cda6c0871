"""Repairs, and rules applied to a batch."""

from __future__ import annotations

from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean
from components.ingest.cleaning.repair import decode, repair
from components.ingest.cleaning.rules import Rules, TooLong


def test_repair_keeps_one_line_a_sentence_and_one_space_a_gap():
    found = repair(
        [
            "\ufeffBonjour\u00a0!  \r",
            "one\u2028sentence\u0085here",
            "e\u0301te\u0301",
            "\u3000你好\u200b\t世界 ",
            "\x07bell\x00",
            "",
        ]
    )
    assert found == [
        "Bonjour !",
        "one sentence here",
        "été",
        "你好 世界",
        "bell",
        "",
    ]
    assert repair([]) == []


def test_entities_are_resolved_once_and_only_where_they_are_entities():
    found = repair(
        [
            "&quot;R&amp;D&quot; caf&#233; &#x597D;",
            "one&#10;line&NewLine;only&nbsp;!",
            "AT&T; fish & chips; &notaname; &amp;lt; a&b",
        ]
    )
    assert found == [
        '"R&D" café 好',
        "one line only !",
        "AT&T; fish & chips; &notaname; &lt; a&b",
    ]


def test_decode_marks_only_the_lines_that_are_not_text():
    lines = ["grün".encode(), "grün".encode("latin-1"), b"a\0b", b"ok"]
    texts, bad = decode(lines)
    assert texts == ["grün", "gr\\xfcn", "a\0b", "ok"]
    assert bad == [1, 2]
    assert decode([]) == ([], [])


def test_clean_names_the_first_rule_and_loses_no_pair():
    rules = Rules(too_long=TooLong(20), copied=None, misaligned=None)
    batch = Batch(
        task="en-de",
        split="train",
        file=3,
        first_line=11,
        sources=["good day", " ", "x" * 30, "same old text", "caf\\xe9", "no " * 6],
        targets=["guten Tag", "leer", "<b></b>", "same old text", "Café", "nein"],
        faults={4: "not_text"},
    )
    accepted, rejected = clean(batch, rules, seed=1)
    assert accepted["source"].to_pylist() == ["good day", "same old text"]
    places = pair_tables.files_and_lines(pair_tables.column(accepted, "place"))
    assert [column.tolist() for column in places] == [[3, 3], [11, 14]]
    files, lines = pair_tables.files_and_lines(pair_tables.column(rejected, "place"))
    assert list(zip(lines.tolist(), rejected["rule"].to_pylist(), strict=True)) == [
        (12, "empty"),
        (13, "too_long"),
        (15, "not_text"),
        (16, "repeated"),
    ]
    assert set(files.tolist()) == {3}
