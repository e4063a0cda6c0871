"""Repairs, and rules applied to a batch."""

from __future__ import annotations

from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean
from components.ingest.cleaning.rules import Rules, TooLong


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
