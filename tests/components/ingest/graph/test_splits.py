"""The held-out test set, and what may not be trained on."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from components import ingest
from components.ingest import pair_tables
from components.ingest.batch import Batch
from components.ingest.cleaning.clean import clean
from components.ingest.cleaning.rules import Rules
from components.ingest.config import TextTask, TextTestSet
from components.ingest.duplicates.config import Duplicates
from components.ingest.graph import splits
from tests.components.parallel_text import (
    a_config,
    dead_letters,
    pairs_of,
    random_sentences,
    write,
)


def a_table(pairs: list[tuple[str, str]], file: int = 0, **columns) -> pa.Table:
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    batch = Batch("en-de", "train", file, 1, sources, targets, **columns)
    table, rejected = clean(batch, None, 5)
    assert not len(rejected)
    return table


def keys_of(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    return tuple(
        pair_tables.column(table, f"{name}_key") for name in ("source", "pair")
    )


def reasons_of(pairs: pa.Table, tests: pa.Table | None = None, **options) -> list[str]:
    config = a_config(**{"seed": 5, **options})
    marks = []
    if tests is not None:
        marks = [splits.marks_of(pair_tables.pack(tests), config)]
    found = splits.reasons(pairs, {}, marks, config)
    return [(*splits.REASONS, "")[number] for number in found.tolist()]


def test_of_equal_pairs_the_first_in_the_inputs_stays_whatever_the_order():
    pairs = [("a", "x"), ("b", "y"), ("a", "x"), ("A", "x"), ("b", "z"), ("a", "x")]
    table = a_table(pairs)
    reasons = reasons_of(table)
    assert reasons == ["", "", "duplicate", "", "", "duplicate"]
    order = [5, 3, 1, 4, 0, 2]
    assert reasons_of(table.take(order)) == [reasons[i] for i in order]


def test_candidates_hold_one_pair_of_each_source_with_the_smallest_keys():
    table = a_table([(f"sentence {i // 3}", f"satz {i}") for i in range(300)])
    sources, both = keys_of(table)
    chosen = splits.candidates(table, 7)
    assert sources[chosen].tolist() == np.unique(sources)[:7].tolist()
    for position in chosen:
        assert both[position] == both[sources == sources[position]].min()
    fewer = splits.candidates(table.slice(0, 150), 7)
    assert set(chosen[chosen < 150]) <= set(fewer)


def test_a_share_bounds_the_candidates_and_keeps_their_sources_out_of_training():
    table = a_table([(f"s {i}", f"t {i}") for i in range(2000)])
    chosen = splits.candidates(table, 2000, 0.1)
    assert 140 < len(chosen) < 260
    reasons = np.array(reasons_of(table, test_share=0.1))
    assert np.flatnonzero(reasons == "held_out").tolist() == sorted(chosen)


def test_a_sentence_of_a_test_set_stays_out_on_either_side_and_in_any_language():
    pairs = [
        ("one", "eins"),
        ("two", "zwei"),
        ("drei!", "three"),
        ("4", "5"),
        ("6", "4!"),
    ]
    details = [None, {"references": ["DREI", "Vier", "four: 4"]}, None]
    tests = a_table(
        [("Zwei.", "x"), ("y", "DREI"), ("one more", "5")], 1, details=details
    )
    assert reasons_of(a_table(pairs), tests) == [
        "",
        "overlaps_test",
        "overlaps_test",
        "overlaps_test",
        "",
    ]


def test_a_pair_in_a_test_set_is_neither_trained_on_nor_rejected():
    table = a_table([("a", "x"), ("a", "x"), ("a", "y"), ("b", "z")])
    tests = table.take(splits.candidates(table.slice(0, 3), 1))
    reasons = reasons_of(table, tests)
    assert sorted(reasons[:3]) == sorted(["duplicate", "overlaps_test", "tested"])
    assert reasons[3] == ""


@pytest.mark.parametrize("similarity", [None, 0.65])
def test_nothing_like_a_test_sentence_is_trained_on(tmp_path, similarity):
    """Of a named test set, its second reference included, and of the held-out one of
    another task, whichever side of the pair is like it."""
    rng = random.Random(31)
    apart, tests = random_sentences(rng, 160), random_sentences(rng, 24)
    news, second, de = tests[:8], tests[8:16], tests[16:]
    pairs = [(s, f"x{s[::-1]}") for s in apart[:80]]
    like = [(f"{s} ok", f"eins {i}") for i, s in enumerate(news)]
    like += [(f"zwei {i}", f"so {s}") for i, s in enumerate(second)]
    like += [(f"Drei {i}", f"{s.upper()} ja!") for i, s in enumerate(de)]
    other = [(s, f"y{s[::-1]}") for s in apart[80:]]
    for name, rows in (("de", pairs + like), ("fr", other)):
        rng.shuffle(rows)
        for side in (0, 1):
            write(tmp_path / f"{name}.{side}", [row[side] for row in rows])
    for name, lines in (("n.0", news), ("n.1", de), ("n.2", second)):
        write(tmp_path / name, lines)
    test = TextTestSet("n.0", "n.1", references=("n.2",))
    text = {
        "en-de": TextTask("de.0", "de.1"),
        "en-fr": TextTask("fr.0", "fr.1", test_sets={"news": test}),
    }
    config = a_config(
        text=text,
        rules=Rules(misaligned=None, numbers=None, length_ratio=None, repeated=None),
        duplicates=Duplicates(similarity=similarity),
        test_sentences=5,
    )
    tasks, output = tuple(text), tmp_path / "ingest"
    counts = ingest.run(config, base=tmp_path, tasks=tasks, output=output).counts
    rejected = [
        (letter["source"], letter["target"])
        for letter in dead_letters(output, "en-de")
        if letter["rule"] == "resembles_test"
    ]
    # Those that were held out themselves are no training pairs.
    held_out = pairs_of(output, "en-de", "in_domain")
    expected = {*like} - {*held_out} if similarity else set()
    assert {*rejected} == expected
    assert not similarity or len(expected) > 18
    assert counts["en-de"]["rejected"].get("resembles_test", 0) == len(expected)
    assert counts["en-fr"]["train"] == 75
