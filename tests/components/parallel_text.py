"""Small parallel text and what ingest makes of it, for the tests of ingest."""

from __future__ import annotations

import random
from pathlib import Path

from components import ingest
from components.artifacts.text_shards import read_shard, split_shards
from components.ingest.cleaning.rules import Rules, TooLong
from components.ingest.config import TextTask
from components.ingest.duplicates.keys import comparable

TASKS = ("en-de", "en-fr")


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def a_corpus(base: Path, seed: int = 0) -> dict[str, int]:
    """Two tasks whose sources overlap, with repeated sources and repeated pairs."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(60)]
    sources = [" ".join(rng.choices(words, k=rng.randint(2, 6))) for _ in range(400)]
    read = {}
    for task in TASKS:
        language = task[-2:]
        pairs = []
        for source in rng.sample(sources, 300):
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                translated = [f"{language}{word[1:]}" for word in source.split()]
                rng.shuffle(translated)
                pairs.append((source, " ".join(translated)))
        pairs += rng.sample(pairs, 25)
        pairs += [(s.upper() + "!", f"{t}.") for s, t in rng.sample(pairs, 25)]
        pairs += [("", "nothing"), ("far " * 40, "weit"), ("go", "x " * 40)]
        rng.shuffle(pairs)
        write(base / f"{task}.en", [source for source, _ in pairs])
        write(base / f"{task}.xx", [target for _, target in pairs])
        read[task] = len(pairs)
    return read


def a_config(**options) -> ingest.Config:
    settings = {
        "source": "text",
        "text": {task: TextTask(f"{task}.en", f"{task}.xx") for task in TASKS},
        "rules": Rules(too_long=TooLong(100)),
        "test_sentences": 20,
        "shards": 3,
    }
    return ingest.Config(**{**settings, **options})


def pairs_of(output: Path, task: str, split: str) -> list[tuple[str, str]]:
    return [
        (record["source"], record["target"])
        for path in split_shards(output / task, split)
        for record in read_shard(path)
    ]


def dead_letters(output: Path, task: str) -> list[dict]:
    paths = split_shards(output / "dead_letters", task)
    return [record for path in paths for record in read_shard(path)]


def all_bytes(output: Path) -> dict[str, bytes]:
    return {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def sides(pairs: list[tuple[str, str]]) -> set[str]:
    return set(comparable([text for pair in pairs for text in pair]))


def random_sentences(rng: random.Random, count: int) -> list[str]:
    """Sentences of twelve words, no two alike."""
    words = [f"{rng.choice('bdfgklmn')}{rng.choice('aeiou')}{i:03}" for i in range(400)]
    return [" ".join(rng.choices(words, k=12)) for _ in range(count)]
