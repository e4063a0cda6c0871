"""Components, equivalent pairs and near-duplicates, with real Beam."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from components import ingest
from components.ingest import near
from components.ingest.cleaning.rules import Rules
from components.ingest.config import TextTask, TextTestSet
from components.ingest.deduplication import Duplicates
from components.ingest.keys import comparable
from components.ingest.resemblance import Resemblance
from tests.components.parallel_text import (
    a_config,
    dead_letters,
    pairs_of,
    sides,
    write,
)


@pytest.mark.parametrize("leak", ["sentence", "component"])
def test_whole_components_stay_out_of_training(tmp_path, leak):
    rng = random.Random(5)
    pairs = []
    for i in range(120):
        chain = [f"en {i} {j}" for j in range(4)]
        targets = [f"de {i} {j}" for j in range(4)]
        pairs += list(zip(chain, targets, strict=True))
        pairs += list(zip(chain[1:], targets, strict=False))
    rng.shuffle(pairs)
    write(tmp_path / "a.en", [source for source, _ in pairs])
    write(tmp_path / "a.de", [target for _, target in pairs])
    config = a_config(text={"en-de": TextTask("a.en", "a.de")}, leak=leak)
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=tmp_path / "ingest")
    train = pairs_of(tmp_path / "ingest", "en-de", "train")
    test = pairs_of(tmp_path / "ingest", "en-de", "in_domain")
    assert not sides(test) & sides(train)
    chains = {source.split()[1] for source, _ in test}
    shared = {source.split()[1] for source, _ in train} & chains
    if leak == "component":
        assert not shared
        assert len(train) == len(pairs) - 7 * len(chains)
    else:
        assert shared


def test_a_component_that_is_too_large_gives_no_test_sentence(tmp_path):
    pairs = [("go on", f"los {i}") for i in range(60)]
    pairs += [(f"here {i}", f"hier {i}") for i in range(60)]
    write(tmp_path / "a.en", [source for source, _ in pairs])
    write(tmp_path / "a.de", [target for _, target in pairs])
    text = {"en-de": TextTask("a.en", "a.de")}
    config = a_config(text=text, largest_component=50, test_sentences=40)
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=tmp_path / "ingest")
    test = pairs_of(tmp_path / "ingest", "en-de", "in_domain")
    train = pairs_of(tmp_path / "ingest", "en-de", "train")
    assert all(source.startswith("here") for source, _ in test)
    assert len(train) == 60 + 20


def claims_on(pairs: list[tuple[str, str]], base: Path, **options) -> tuple[list, dict]:
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
    kept, rejected = claims_on(pairs, tmp_path, same=same)
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
    kept, rejected = claims_on(everything, tmp_path, similarity=0.85)
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
    for across, gone in ((False, 0), (True, 20)):
        config = a_config(
            text=text,
            test_sentences=1,
            leak="sentence",
            duplicates=Duplicates(same="pair", across_tasks=across),
        )
        output = tmp_path / f"ingest-{across}"
        counts = ingest.run(config, base=tmp_path, tasks=tasks, output=output).counts
        rejected = [counts[task]["rejected"].get("equivalent", 0) for task in tasks]
        assert sum(rejected) == gone
        assert not across or min(rejected) > 0


def sentences(rng: random.Random, count: int) -> list[str]:
    """Sentences of twelve words, no two alike."""
    words = [f"{rng.choice('bdfgklmn')}{rng.choice('aeiou')}{i:03}" for i in range(400)]
    return [" ".join(rng.choices(words, k=12)) for _ in range(count)]


@pytest.mark.parametrize("similarity", [None, 0.65])
def test_nothing_like_a_test_sentence_is_trained_on(tmp_path, similarity):
    """Of a named test set, its second reference included, and of the held-out one of
    another task, whichever side of the pair is like it."""
    rng = random.Random(31)
    apart, tests = sentences(rng, 160), sentences(rng, 24)
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


def test_what_resembles_is_what_a_comparison_of_all_with_all_finds():
    rng = random.Random(4)
    tests = sentences(rng, 40)
    texts = []
    for text in (*tests, *sentences(rng, 20)):
        words = text.split()
        for changed in range(0, 9, 2):
            texts.append(
                " ".join(sentences(rng, 1)[0].split()[:changed] + words[changed:])
            )
    signatures = near.signatures(comparable(tests), 7)
    found = Resemblance.of(signatures, 0.7, 7).similar(texts)
    mine = near.sketches(near.signatures(comparable(texts), 7))
    theirs = near.sketches(signatures)
    best = [near.similarities(mine[:, i], theirs).max() for i in range(len(texts))]
    wanted = [value >= 0.7 for value in best]
    assert 40 < sum(wanted) < 160
    # Locality-sensitive hashing may miss what only just counts, and makes nothing up.
    missed = [
        value for value, w, f in zip(best, wanted, found, strict=True) if w and not f
    ]
    assert not any(f and not w for f, w in zip(found, wanted, strict=True))
    assert len(missed) <= 2 and all(value < 0.8 for value in missed)
