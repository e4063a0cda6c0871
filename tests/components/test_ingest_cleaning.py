"""Repairs, rules, keys and splits: the pure parts of ingest."""

from __future__ import annotations

import numpy as np
import pytest

from components.ingest import splits
from components.ingest.batch import Batch
from components.ingest.block import Block
from components.ingest.cleaning.clean import clean
from components.ingest.cleaning.rules import Rules, TooLong
from components.ingest.connected import ALONE, connect
from components.ingest.keys import comparable, pair_keys, sentence_keys


def a_block(pairs: list[tuple[str, str]], *, file: int = 0, seed: int = 5) -> Block:
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    batch = Batch("en-de", "train", file, 1, sources, targets)
    block, rejected = clean(batch, None, seed)
    assert not rejected.pairs
    return block


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
    block, rejected = clean(batch, rules, seed=1)
    assert block.sources == ["good day", "same old text"]
    assert block.lines.tolist() == [11, 14]
    assert [(letter.line, letter.rule) for letter in rejected.pairs] == [
        (12, "empty"),
        (13, "too_long"),
        (15, "not_text"),
        (16, "repeated"),
    ]
    assert {letter.file for letter in rejected.pairs} == {3}


def test_comparable_sentences_do_not_see_case_punctuation_or_width():
    same = ["Look out!", "look  out", "LOOK-OUT?", "Ｌｏｏｋ ｏｕｔ！", "l_o_o_k out"]
    assert set(comparable(same)) == {"lookout"}
    assert comparable(["Straße", "STRASSE"]) == ["strasse", "strasse"]
    assert comparable(["你好，世界。", "🙂", "?!", ""]) == ["你好世界", "🙂", "?!", ""]


def test_keys_depend_on_the_seed_the_task_and_the_boundary():
    assert (
        sentence_keys(["a b", "A, B!"], 3).tolist() == [sentence_keys(["ab"], 3)[0]] * 2
    )
    assert sentence_keys(["ab"], 3) != sentence_keys(["ab"], 4)
    one = pair_keys("en-de", ["ab"], ["c"], 3)
    assert one != pair_keys("en-de", ["a"], ["bc"], 3)
    assert one != pair_keys("en-fr", ["ab"], ["c"], 3)


def keys_of(pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    block = a_block(pairs)
    return block.source_keys, block.pair_keys


def test_repetitions_spare_the_first_in_the_inputs_whatever_the_order():
    pairs = [("a", "x"), ("b", "y"), ("a", "x"), ("A", "x"), ("b", "z"), ("a", "x")]
    block = a_block(pairs)
    repeated = splits.repetitions(block.pair_keys, block.places)
    assert repeated.tolist() == [False, False, True, False, False, True]
    order = np.array([5, 3, 1, 4, 0, 2])
    shuffled = splits.repetitions(block.pair_keys[order], block.places[order])
    assert shuffled.tolist() == repeated[order].tolist()


def test_candidates_hold_one_pair_of_each_source_with_the_smallest_keys():
    pairs = [(f"sentence {i // 3}", f"satz {i}") for i in range(300)]
    sources, both = keys_of(pairs)
    chosen = splits.candidates(sources, both, 7, None)
    assert sources[chosen].tolist() == np.unique(sources)[:7].tolist()
    for position in chosen:
        assert both[position] == both[sources == sources[position]].min()
    fewer = splits.candidates(sources[:150], both[:150], 7, None)
    assert set(chosen[chosen < 150]) <= set(fewer)


def test_a_share_bounds_the_candidates_whatever_else_is_there():
    sources, both = keys_of([(f"s {i}", f"t {i}") for i in range(2000)])
    chosen = splits.candidates(sources, both, 2000, 0.1)
    assert 140 < len(chosen) < 260
    assert splits.below(sources[chosen], 0.1).all()


def a_guard(tests: list[str], pairs: list[tuple[str, str]], largest: int):
    block = a_block(pairs)
    ends = block.source_keys, block.target_keys
    linked = connect(*(keys.copy() for keys in ends))
    none = np.zeros(0, np.uint64), np.zeros((0, 64), np.uint32)
    marks = [splits.Marks(sentence_keys(tests, 5), *none)]
    guard = splits.collect(marks, linked, largest)
    return splits.leaking(*ends, guard, linked).tolist()


def test_leaking_looks_at_both_sides_and_any_language():
    pairs = [("one", "eins"), ("two", "zwei"), ("drei!", "three"), ("4", "5")]
    tests = ["Zwei.", "DREI", "one more"]
    assert a_guard(tests, pairs, 1) == [False, True, True, False]


def test_a_component_leaks_whole_unless_it_is_too_large():
    pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("d", "z"), ("e", "z")]
    assert a_guard(["A!"], pairs, 4) == [True, True, True, True, False, False]
    assert a_guard(["A!"], pairs, 3) == [True, False, False, False, False, False]
    assert a_guard(["x"], pairs, 3) == [True, True, False, False, False, False]


@pytest.mark.parametrize(("nodes", "edges"), [(40, 25), (60, 90), (3000, 2600)])
def test_components_are_those_of_a_search_from_every_node(nodes, edges):
    rng = np.random.default_rng(nodes)
    names = rng.integers(2**64, size=nodes, dtype=np.uint64)
    left, right = names[rng.integers(nodes, size=(2, edges))]
    found = connect(left.copy(), right.copy())
    neighbours: dict[int, set[int]] = {}
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    labels, sizes = (column.tolist() for column in found.of(left))
    for start in set(left.tolist()):
        reached, waiting = {start}, [start]
        while waiting:
            further = neighbours[waiting.pop()] - reached
            reached |= further
            waiting += further
        inside = [i for i, a in enumerate(left.tolist()) if a in reached]
        assert {sizes[i] for i in inside} == {len(inside)}
        if len(inside) > 1:
            assert {labels[i] for i in inside} != {ALONE}
            assert {i for i, x in enumerate(labels) if x == labels[inside[0]]} == set(
                inside
            )
        else:
            assert labels[inside[0]] == ALONE


def test_no_pairs_have_no_components():
    found = connect(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    assert found.of(np.array([3, 5], np.uint64))[0].tolist() == [ALONE, ALONE]


def test_blocks_survive_the_coder():
    import pickle

    block = a_block([("a", "x"), ("b\u2028c", "y")])
    again = pickle.loads(pickle.dumps(block))
    assert again.sources == block.sources
    assert again.pair_keys.tolist() == block.pair_keys.tolist()
    joined = Block.concatenate([again, Block.empty(), block])
    assert len(joined) == 4
    assert joined.take(joined.lines == 2).targets == ["y", "y"]
