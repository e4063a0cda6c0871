"""Everything a reader finds in a file, for tests."""

from __future__ import annotations

from pathlib import Path

from components.ingest.batch import Batch
from components.ingest.config import Config, TextTask, TextTestSet
from components.ingest.sources import reading
from components.ingest.sources.inputs import list_inputs

OTHER = "other"


def batches(base: Path, task: str, split: str = "train", **corpus) -> list[Batch]:
    """The batches of a corpus, read as training text or as the test set ``split``."""
    if split == "train":
        text = {task: TextTask(**corpus)}
    else:
        for side in ("a", "b"):
            (base / f"{OTHER}.{side}").write_text(f"{side}\n")
        tests = {split: TextTestSet(**corpus)}
        text = {task: TextTask(f"{OTHER}.a", f"{OTHER}.b", test_sets=tests)}
    config = Config(source="text", text=text)
    found = []
    for number, entry in enumerate(list_inputs(config, base, (task,))):
        if entry.split == split:
            for part in reading.parts(entry):
                found += reading.read(part, number, config.synthetic)
    return found


def pairs(base: Path, task: str, split: str = "train", **corpus) -> list[tuple]:
    """``(line, source, target, fault)`` of every pair."""
    return [
        (line, source, target, batch.faults.get(i, ""))
        for batch in batches(base, task, split, **corpus)
        for i, (line, source, target) in enumerate(
            zip(batch.places, batch.sources, batch.targets, strict=True)
        )
    ]


def texts(base: Path, task: str, split: str = "train", **corpus) -> list[tuple]:
    """``(source, target)`` of every pair that nothing is wrong with."""
    found = pairs(base, task, split, **corpus)
    return [(source, target) for _, source, target, fault in found if not fault]
