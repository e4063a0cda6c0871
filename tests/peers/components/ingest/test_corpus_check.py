"""The check of an input as a whole, on real text: clean text passes, faults do not."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from components.ingest.corpus_check import CorpusCheck, check
from components.ingest.sources.corpus import Corpus, Encodings
from components.ingest.sources.inputs import TextInput

TASKS = ("en-de", "en-fr", "en-zh")
CLEAN = (
    *(f"tatoeba/{{task}}/{split}" for split in ("train", "dev", "test")),
    *(f"techdocs/{{task}}/{split}" for split in ("train", "dev", "test")),
    *(f"bible/multi/{split}" for split in ("train", "dev", "test")),
    "ntrex/multi/test",
)
FAULTS = {
    "shuffled": "not translations of each other",
    "shifted": "not translations of each other",
    "swapped": "source and target are exchanged",
    "wrong language": "of the longer target sentences are in es",
    "mis-decoded": "UTF-8 that was read in a Western encoding",
}


def lines(stem: Path) -> list[str]:
    path = next(stem.parent.glob(f"{stem.name}.txt*"))
    opened = gzip.open(path) if path.suffix == ".gz" else path.open("rb")
    with opened as file:
        return file.read().decode().split("\n")[:-1]


def both(data: Path, corpus: str, task: str) -> list[list[str]]:
    stem = data / corpus.format(task=task)
    return [lines(stem.with_name(f"{stem.name}.{code}")) for code in task.split("-")]


def checked(base: Path, task: str, sides: list[list[str]], **options) -> CorpusCheck:
    paths = str(base / "source"), str(base / "target")
    for path, texts in zip(paths, sides, strict=True):
        Path(path).write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return check(TextInput(task, "train", "x", "lines", paths, Corpus(**options)))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("corpus", CLEAN)
def test_nothing_is_said_of_clean_text(data, tmp_path, corpus, task):
    assert not checked(tmp_path, task, both(data, corpus, task)).warnings


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_named(data, tmp_path, fault, task):
    sides = both(data, "tatoeba/{task}/train", task)
    sources, targets = (side[:20_000] for side in sides)
    options = {}
    if fault == "shuffled":
        targets = random.Random(0).sample(targets, len(targets))
    elif fault == "shifted":
        targets = targets[1:] + targets[:1]
    elif fault == "swapped":
        sources, targets = targets, sources
    elif fault == "wrong language":
        task = "en-es"
    else:
        options["encoding"] = Encodings(target="latin-1")
    found = checked(tmp_path, task, [sources, targets], **options)
    assert any(FAULTS[fault] in warning for warning in found.warnings)
