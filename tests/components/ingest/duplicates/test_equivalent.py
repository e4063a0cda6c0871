"""Equivalent pairs and near-duplicates, with real Beam."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from components import ingest
from components.ingest.cleaning.rules import Rules
from components.ingest.config import TextTask
from components.ingest.duplicates.config import Duplicates
from tests.components.parallel_text import (
    a_config,
    dead_letters,
    pairs_of,
    sides,
    write,
)


def duplicates_among(
    pairs: list[tuple[str, str]], base: Path, **options
) -> tuple[list, dict]:
    write(base / "a.en", [source for source, _ in pairs])
    write(base / "a.de", [target for _, target in pairs])
    config = a_config(
        text={"en-de": TextTask("a.en", "a.de")},
        test_sentences=1,
        rules=Rules(misaligned=None),
        duplicates=Duplicates(**options),
    )
    manifest = ingest.run(config, base=base, tasks=("en-de",), output=base / "ingest")
    kept = pairs_of(base / "ingest", "en-de", "train")
    kept += pairs_of(base / "ingest", "en-de", "in_domain")
    return kept, manifest.counts["en-de"]["rejected"]


@pytest.mark.parametrize(
    ("same", "left"),
    [
        ("nothing", {66}),
        ("pair", {65}),
        ("source", {61}),
        ("target", {63}),
        ("either", {59, 60}),  # one pair may win by its source, one by its target
    ],
)
def test_equivalent_pairs_are_those_with_the_same_sides(tmp_path, same, left):
    pairs = [(f"apart {i}", f"getrennt {i}") for i in range(58)]
    pairs += [("Look out!", "Achtung"), ("look out", "ACHTUNG!")]
    pairs += [("Look out.", f"Achtung {i}") for i in range(4)]
    pairs += [("mind", "achtung."), ("MIND THE", "Achtung...")]
    kept, rejected = duplicates_among(pairs, tmp_path, same=same)
    assert len(kept) in left
    assert rejected.get("equivalent", 0) == 66 - len(kept)


def test_near_duplicates_are_found_and_others_are_not(tmp_path):
    rng = random.Random(8)
    words = [f"{rng.choice('bdfgklmn')}{rng.choice('aeiou')}{i:03}" for i in range(400)]
    pairs = []
    for _ in range(150):
        chosen = rng.choices(words, k=24)
        pairs.append((" ".join(chosen[:12]), " ".join(chosen[12:])))
    copies = [(f"{source} ok", target) for source, target in pairs[:40]]
    half = [(source, " ".join(rng.choices(words, k=12))) for source, _ in pairs[40:80]]
    everything = pairs + copies + half
    rng.shuffle(everything)
    kept, rejected = duplicates_among(everything, tmp_path, similarity=0.85)
    assert rejected["near_duplicate"] == 40
    assert len(kept) == 190
    for pair, copy in zip(pairs[:40], copies, strict=True):
        assert (pair in kept) != (copy in kept)


def test_sentences_of_several_tasks_are_compared_on_either_side(tmp_path):
    forward = [(f"the {i}", f"das {i}") for i in range(60)]
    backward = [(f"Das {i}!", f"The {i}.") for i in range(40, 100)]
    for name, pairs in (("en-de", forward), ("de-en", backward)):
        write(tmp_path / f"{name}.1", [source for source, _ in pairs])
        write(tmp_path / f"{name}.2", [target for _, target in pairs])
    tasks = ("en-de", "de-en")
    text = {task: TextTask(f"{task}.1", f"{task}.2") for task in tasks}
    for across in (False, True):
        config = a_config(
            text=text,
            test_sentences=1,
            duplicates=Duplicates(same="pair", across_tasks=across),
        )
        output = tmp_path / f"ingest-{across}"
        ingest.run(config, base=tmp_path, tasks=tasks, output=output)
        kept = [
            sides([pair])
            for task in tasks
            for split in ("train", "in_domain")
            for pair in pairs_of(output, task, split)
        ]
        rules = [[x["rule"] for x in dead_letters(output, task)] for task in tasks]
        equivalent = [task.count("equivalent") for task in rules]
        assert min(equivalent) > 0 if across else equivalent == [0, 0]
        # A pair that is held out keeps the other one out of training by itself.
        assert {rule for task in rules for rule in task} <= {
            "equivalent",
            "overlaps_test",
        }
        if across:
            assert len(kept) == len(set(map(frozenset, kept))) == 100
