"""Tables of pairs as they travel."""

from __future__ import annotations

import numpy as np

from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean


def test_tables_survive_the_journey_and_join():
    sources, targets = ["a", "b\u2028c", "\U0001f642"], ["x", "y", "z" * 70_000]
    batch = Batch(
        "en-de", "news", 3, 7, sources, targets, origins=["source", "", "mixed"]
    )
    table, _ = clean(batch, None, 1)
    packed = pair_tables.pack(table)
    again = pair_tables.unpack([packed, b"", packed], pair_tables.ACCEPTED)
    assert again.take(np.arange(3)).equals(table)
    assert len(again) == 6
    rows = pair_tables.rows(again, np.array([5, 0]), ("origin", "target"))
    assert list(rows) == [("mixed", "z" * 70_000), ("source", "x")]
    empty = pair_tables.unpack([], pair_tables.REJECTED)
    assert len(empty) == 0 and empty.schema == pair_tables.REJECTED


def test_a_place_is_a_file_and_a_line():
    places = pair_tables.places_of(2**19, [1, 2**43])
    files, lines = pair_tables.files_and_lines(places)
    assert files.tolist() == [2**19] * 2
    assert lines.tolist() == [1, 2**43]
