"""A sweep on two languages of a dozen words, small enough to train in a test."""

from __future__ import annotations

import random
from pathlib import Path

from components import evaluate, tokenize, train
from components.artifacts import manifest
from components.artifacts.text_shards import shard_bytes
from components.artifacts.trial import Trial
from components.evaluate.config import Quality

TASKS = ("en-de", "en-fr")
WORDS = {
    "en": "the small house river goes by a mountain old bird sees green".split(),
    "de": "das kleine Haus Fluß geht am ein Gebirge alte Vogel sieht grün".split(),
    "fr": "la petite maison rivière va par une montagne vieil oiseau voit vert".split(),
}
LONG = 40  # words in the one test sentence that fits in no row


def translated(words: list[int], language: str) -> str:
    """Word by word; German turns the order around."""
    order = words[::-1] if language == "de" else words
    return " ".join(WORDS[language][word] for word in order)


def record(rng: random.Random, task: str, count: int, **more) -> dict:
    words = [rng.randrange(12) for _ in range(count)]
    source, target = task.split("-")
    sides = {"source": translated(words, source), "target": translated(words, target)}
    return sides | more


def write_ingest(folder: Path, *, seed: int = 5) -> Path:
    """An artifact of ``ingest``: news has origins, a long sentence and, now and
    then, a second reference."""
    rng = random.Random(seed)
    for task in TASKS:
        path = folder / task
        path.mkdir(parents=True)
        pairs = [record(rng, task, rng.randint(1, 6)) for _ in range(2500)]
        held_out = [record(rng, task, rng.randint(1, 6)) for _ in range(40)]
        news = []
        for k in range(31):
            one = record(rng, task, LONG if k == 17 else rng.randint(2, 7))
            one["origin"] = "source" if k % 3 else "target"
            if k % 4 == 0:
                one["references"] = [one["target"], one["target"].upper()]
            news.append(one)
        for name, records in (
            ("train", pairs),
            ("in_domain", held_out),
            ("news", news),
        ):
            path.joinpath(f"{name}-00000-of-00001.jsonl.gz").write_bytes(
                shard_bytes(records)
            )
    manifest.seal(
        folder, verb="ingest", config={"seed": seed}, inputs={}, counts={}, seconds=1.0
    )
    return folder


TRIALS = tuple(
    Trial("en-xx", "15k", (("en-de", p), ("en-fr", 1 - p)), 0) for p in (0.5, 1.0)
)


def make(base: Path) -> Path:
    """``base/ingest``, ``base/tokenize`` and ``base/train`` with two trials, the
    second of which has never seen French."""
    write_ingest(base / "ingest")
    tokenize.run(
        tokenize.Config(vocabulary_size=66, source_length=24, target_length=24),
        ingest=base / "ingest",
        tasks=TASKS,
        output=base / "tokenize",
    )
    train.run(
        train.Config(
            sizes=("15k",),
            mixtures=(0.5, 1.0),
            steps=400,
            batch_tokens=384,
            warmup_steps=50,
            learning_rate=0.15,
            evaluations=6,
            final_evaluations=1,
            keep_weights=True,
        ),
        trials=TRIALS,
        tokens=base / "tokenize",
        output=base / "train",
    )
    return base


def evaluated(sweep: Path, output: Path, quality: Quality | None) -> Path:
    """An artifact of ``evaluate``."""
    evaluate.run(
        evaluate.Config(quality=quality),
        train=sweep / "train",
        tokens=sweep / "tokenize",
        ingest=sweep / "ingest",
        output=output,
    )
    return output
