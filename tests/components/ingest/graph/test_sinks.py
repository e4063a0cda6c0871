"""What ingest writes, whatever the order in which parts arrive."""

from __future__ import annotations

from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean
from components.ingest.graph.sinks import Sinks
from components.ingest.sources.inputs import SyntheticInput
from tests.components.parallel_text import dead_letters


def letters(file: int, line: int, pairs: list[tuple[str, str]], rule: str) -> bytes:
    """Consecutive pairs that one rule rejects."""
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    faults = dict.fromkeys(range(len(pairs)), rule)
    batch = Batch("en-de", "news", file, line, sources, targets, faults)
    accepted, rejected = clean(batch, None, 0)
    assert not len(accepted)
    return pair_tables.pack(rejected)


def test_dead_letters_stand_in_the_order_they_were_read(tmp_path):
    inputs = [SyntheticInput("en-de", "news", 0), SyntheticInput("en-de", "news", 1)]
    sinks = Sinks(str(tmp_path), inputs, 1)
    parts = [
        letters(1, 2, [("", "x")], "empty"),
        letters(0, 9, [("y", "y")], "copied"),
        b"",
        letters(0, 3, [("z", "")], "empty"),
        letters(0, 4, [("é", "é")], "copied"),
    ]
    written = list(sinks.dead_letters(("en-de", 0), parts))
    counts = dict(row for row in written if isinstance(row, tuple))
    assert counts == {("en-de", "news", "empty"): 2, ("en-de", "news", "copied"): 2}
    found = dead_letters(tmp_path, "en-de")
    assert [(x["file"], x["line"]) for x in found] == [
        (inputs[file].name, line) for file, line in ((0, 3), (0, 4), (0, 9), (1, 2))
    ]
    samples = dict(row.value for row in written if not isinstance(row, tuple))
    drawn = samples["en-de", "news", "copied"]
    assert sorted(source for _, source, _ in drawn) == ["y", "é"]
    assert [path.name for path in (tmp_path / "dead_letters").iterdir()] == [
        "en-de-00000-of-00001.jsonl.gz"
    ]
