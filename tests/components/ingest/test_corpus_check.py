"""Faults of whole files, each named; nothing is said of a clean one."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from components.ingest.corpus_check import CorpusCheck, check
from components.ingest.sources.corpus import Corpus, Encodings
from components.ingest.sources.inputs import TextInput
from components.ingest.step import warn
from models.errors import UserError

Lines = list[str]
PARTS = (
    (("The old teacher", "Der alte Lehrer"), ("My younger sister", "Meine Schwester")),
    (("reads a letter", "liest einen Brief"), ("opens the door", "öffnet die Tür")),
    (("", ""), ("in the quiet garden", "im stillen Garten"), ("today", "heute")),
    (("", ""), ("because it is raining", "denn es regnet draußen")),
    (("", ""), ("before the long winter begins", "bevor der lange Winter beginnt")),
)


def a_text(pairs: int) -> tuple[Lines, Lines]:
    """Sentences of one to three clauses and their translations."""
    rng = random.Random(5)
    sources, targets = [], []
    for _ in range(pairs):
        clauses = [
            list(zip(*map(rng.choice, PARTS), strict=True))
            for _ in range(rng.randint(1, 3))
        ]
        for lines, side in ((sources, 0), (targets, 1)):
            said = [" ".join(filter(None, clause[side])) for clause in clauses]
            lines.append(", ".join(said) + ".")
    return sources, targets


def checked(
    base: Path, task: str, sources: Lines, targets: Lines, **form
) -> CorpusCheck:
    encoding = form.pop("written", "utf-8")
    (base / "a").write_text("\n".join(sources), encoding="utf-8")
    (base / "b").write_bytes("\n".join(targets).encode(encoding))
    paths = str(base / "a"), str(base / "b")
    return check(TextInput(task, "train", "a", "lines", paths, Corpus(**form)))


def test_nothing_is_said_of_clean_text(tmp_path):
    found = checked(tmp_path, "en-de", *a_text(1200))
    assert (found.warnings, found.certain, found.pairs) == ((), False, 1200)
    assert found.source_languages["en"] > 0.9 < found.target_languages["de"]
    assert found.length_correlation > 0.8 > 0.1 > abs(found.shuffled_correlation)
    assert found.told_apart > 0.7
    assert not checked(tmp_path, "en-de", ["one"] * 50, ["zwei"] * 50).warnings


def shuffled(sources: Lines, targets: Lines) -> tuple[Lines, Lines]:
    return sources, random.Random(2).sample(targets, len(targets))


def shifted_from_the_middle(sources: Lines, targets: Lines) -> tuple[Lines, Lines]:
    middle = len(targets) // 2
    return sources, targets[:middle] + targets[middle + 1 :] + targets[:1]


def copied(sources: Lines, targets: Lines) -> tuple[Lines, Lines]:
    pairs = enumerate(zip(sources, targets, strict=True))
    return sources, [target if i % 4 else source for i, (source, target) in pairs]


@pytest.mark.parametrize(
    ("task", "fault", "form", "warning"),
    [
        ("en-de", shuffled, {}, "the sides are not translations of each other"),
        ("en-de", shifted_from_the_middle, {}, "the sides are not translations"),
        ("en-fr", None, {}, "% of the longer target sentences are in fr; .* in de"),
        ("en-de", copied, {}, "the sides of 25% of the pairs are the same text"),
        ("en-de", None, {"written": "latin-1"}, "not text .*; try encoding.target: "),
        (
            "en-de",
            None,
            {"encoding": Encodings(target="cp1252")},
            "look like UTF-8 that was read in a Western encoding",
        ),
    ],
)
def test_every_fault_is_named(tmp_path, task, fault, form, warning):
    text = a_text(1200)
    found = checked(tmp_path, task, *(fault(*text) if fault else text), **form)
    (said,) = found.warnings
    assert re.search(warning, said), said
    assert not found.certain


@pytest.mark.parametrize(
    ("task", "sides", "message"),
    [
        ("de-en", (0, 1), "a: source and target are exchanged"),
        ("en-de", (0, 0), "a: .*the sides of 100% of the pairs are the same text"),
    ],
)
def test_what_is_certain_is_refused(tmp_path, task, sides, message):
    text = a_text(300)
    found = checked(tmp_path, task, *(text[side] for side in sides))
    with pytest.raises(UserError, match=message):
        warn([found])
