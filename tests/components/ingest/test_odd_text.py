"""Text as it comes: long, right to left, without spaces, with odd characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from components import ingest
from components.artifacts.text_shards import read_shard, split_shards
from components.ingest.config import Config, Rules, TextTask
from components.ingest.sources import text_files
from models.errors import UserError

ODD = [
    ("مرحبا بالعالم الجميل", "hello beautiful world"),
    ("שלום \u200fעולם (טוב)", "hello good world"),
    ("今天天气很好我们去公园散步", "nice weather today, let us walk in the park"),
    ("👩‍👩‍👧 family 🇩🇪 time", "Zeit 👩‍👩‍👧 Familie 🇩🇪"),
    ("line\u2028separator inside", "Zeilen\u2029trenner darin"),
    ("vertical\x0btab \x1c file", "Tabulator\x85 oben"),
    ("zero\u200bwidth\ufeff space", "Leerzeichen ohne Breite"),
]


def run(base: Path, pairs: list[tuple[str, str]], **options) -> tuple[dict, list[dict]]:
    """Counts, and all records of the shards and the dead letters."""
    for side, name in enumerate(("a.ar", "a.en")):
        lines = [pair[side] for pair in pairs]
        (base / name).write_bytes("\n".join(lines).encode() + b"\n")
    rules = Rules().of_invented_languages()
    config = Config(
        source="text",
        text={"ar-en": TextTask("a.ar", "a.en")},
        test_sentences=3,
        rules=rules,
        **options,
    )
    output = base / "out"
    made = ingest.run(config, base=base, tasks=("ar-en",), output=output)
    paths = [
        path
        for folder, split in (
            ("ar-en", "train"),
            ("ar-en", "in_domain"),
            ("dead_letters", "ar-en"),
        )
        for path in split_shards(output / folder, split)
    ]
    return made.counts["ar-en"], [r for path in paths for r in read_shard(path)]


def test_no_odd_sentence_is_split_or_lost(tmp_path):
    filler = [(f"جملة رقم {i}", f"sentence number {i}") for i in range(20)]
    counts, records = run(tmp_path, [*ODD, *filler])
    assert counts["read"] == len(ODD) + 20
    assert counts["accepted"] == counts["read"]
    found = {record["source"]: record["target"] for record in records}
    assert found["line separator inside"] == "Zeilen trenner darin"
    assert found["vertical tab file"] == "Tabulator oben"
    assert found["👩‍👩‍👧 family 🇩🇪 time"] == "Zeit 👩‍👩‍👧 Familie 🇩🇪"
    assert found["今天天气很好我们去公园散步"].startswith("nice weather")


def test_a_line_of_a_megabyte_is_a_dead_letter_whole(tmp_path):
    long = "word " * 210_000
    filler = [(f"جملة رقم {i}", f"sentence number {i}") for i in range(20)]
    counts, records = run(tmp_path, [*filler[:10], (long, "kurz"), *filler[10:]])
    assert counts["rejected"] == {"too_long": 1}
    (letter,) = [record for record in records if record.get("rule") == "too_long"]
    assert (letter["line"], letter["file"]) == (11, "a.ar")
    assert letter["source"] == long.strip()


def test_a_line_longer_than_any_text_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 1 << 18)
    with pytest.raises(UserError, match=r"a\.ar: line 2 is longer than 1048576 bytes"):
        run(tmp_path, [("a", "b"), ("x" * 2_000_000, "y")])
