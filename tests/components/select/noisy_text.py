"""Two toy languages with a dictionary, and pairs that are no translations."""

from __future__ import annotations

import random
from pathlib import Path

from components.artifacts import manifest
from components.artifacts.text_shards import shard_bytes

TASKS = ("en-de", "en-zh")
KINDS = ("clean", "misaligned", "copied")
SYLLABLES = ("ba", "di", "ko", "lu", "me", "no", "pa", "ri", "su", "ta", "ve", "zi")


def dictionary(language: str) -> list[tuple[str, str]]:
    """Pairs of words; those of ``zh`` are one character each."""
    rng = random.Random(language)
    found = {}
    while len(found) < 80:
        word = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 3)))
        other = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))) + "en"
        found[word] = chr(0x4E00 + 7 * len(found)) if language == "zh" else other
    return list(found.items())


def pairs(task: str, count: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Source, target and kind; a fifth misaligned, a tenth copied."""
    rng = random.Random(f"{task} {seed}")
    words, gap = dictionary(task[-2:]), "" if task.endswith("zh") else " "

    def sentence() -> tuple[str, str]:
        own = rng.choices(words, k=rng.randint(3, 9))
        turned = rng.sample(own, len(own))
        return " ".join(w for w, _ in own) + ".", gap.join(w for _, w in turned) + "."

    found = []
    for _ in range(count):
        kind = rng.choices(KINDS, weights=(7, 2, 1))[0]
        source, target = sentence()
        if kind == "misaligned":
            target = sentence()[1]
        if kind == "copied":
            target = source
        found.append((source, target, kind))
    return found


def clean_texts(count: int = 300) -> tuple[list[str], list[str]]:
    """Sources and targets of pairs that are translations."""
    rows = [row for row in pairs("en-de", 2 * count, seed=3) if row[2] == "clean"]
    return [row[0] for row in rows[:count]], [row[1] for row in rows[:count]]


def write_ingest(folder: Path, count: int = 1500, shards: int = 3) -> Path:
    """An artifact as ``ingest`` leaves it, with one test set a task."""
    for task in TASKS:
        (folder / task).mkdir(parents=True)
        rows = pairs(task, count)
        for index in range(shards):
            name = f"train-{index:05d}-of-{shards:05d}.jsonl.gz"
            write(folder / task / name, rows[index::shards])
        tests = [row for row in pairs(task, 40, seed=1) if row[2] == "clean"]
        write(folder / task / "in_domain-00000-of-00001.jsonl.gz", tests)
    counts = {task: {"train": count} for task in TASKS}
    manifest.seal(
        folder, verb="ingest", config={}, inputs={}, counts=counts, seconds=1.0
    )
    return folder


def write(path: Path, rows: list[tuple[str, str, str]]) -> None:
    path.write_bytes(shard_bytes({"source": s, "target": t} for s, t, _ in rows))
