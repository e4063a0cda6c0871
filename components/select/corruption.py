"""Pairs that are surely no translations, made from pairs that mostly are.

The feature score learns to tell them from the corpus, and a model of the contrastive
score is fine-tuned on trusted text that is corrupted.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts import manifest
from components.artifacts.text_shards import (
    TRAIN,
    shard_bytes,
    shard_name,
    split_shards,
    splits,
)
from components.select.sampling import sample
from models.errors import UserError

MARKS = "`_*<>[]{}=+#@~^|\\/&%$"  # of markup and code: translations keep them
Texts = tuple[list[str], list[str]]
_NEIGHBOURS = 20
_LEAST_TRUSTED = 20  # pairs of a task: fewer are no sample of anything
_MOST_TRUSTED = 1 << 20


def corrupted(
    sources: Sequence[str], targets: Sequence[str], rng: np.random.Generator
) -> list[Texts]:
    """Three bad pairs for every good one, and a fourth for one with markup.

    Args:
      sources, targets: The sides of ``n`` pairs, at least two.
      rng: Chooses.

    Returns:
      Sources and targets: misaligned with a sentence of about the same length,
      copied, with a part of the translation of something else, ``n`` each; and
      without some marks.
    """
    return [
        (list(sources), misaligned(targets, rng)),
        _copied(sources, targets, rng),
        (list(sources), rewritten(targets, misaligned(targets, rng), rng)),
        without_marks(sources, targets, rng),
    ]


def misaligned(targets: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Each target gives way to another of about its length."""
    lengths = np.array([len(text) for text in targets])
    order = np.lexsort((rng.random(len(targets)), lengths))
    moved = np.roll(order, int(rng.integers(1, 1 + min(_NEIGHBOURS, len(order) - 1))))
    others = [""] * len(targets)
    for here, there in zip(order.tolist(), moved.tolist(), strict=True):
        others[here] = targets[there]
    return others


def rewritten(
    targets: Sequence[str], others: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """A part of each target, from nothing to two thirds, gives way to a part of the
    other one, longer or shorter: words exchanged, left out, or too many."""
    rewritten = []
    shares = rng.uniform(0, 2 / 3, (len(targets), 2))
    starts = rng.random(len(targets))
    rows = zip(targets, others, shares.tolist(), starts.tolist(), strict=True)
    for target, other, (lost, added), start in rows:
        gap = " " if target.count(" ") > 1 else ""
        words = target.split(gap) if gap else list(target)
        new = other.split(gap) if gap else list(other)
        size = round(lost * len(words))
        first = round(start * (len(words) - size))
        more = new[first : first + max(round(added * len(words)), not size)]
        text = gap.join([*words[:first], *more, *words[first + size :]])
        rewritten.append(text.strip() or other)
    return rewritten


def without_marks(
    sources: Sequence[str], targets: Sequence[str], rng: np.random.Generator
) -> Texts:
    """The targets that have marks of markup and code, without one kind of them."""
    kept: Texts = ([], [])
    for source, target in zip(sources, targets, strict=True):
        if marks := sorted(set(target).intersection(MARKS)):
            left = target.replace(marks[rng.integers(len(marks))], "")
            if left.strip():
                kept[0].append(source)
                kept[1].append(left)
    return kept


def _copied(
    sources: Sequence[str], targets: Sequence[str], rng: np.random.Generator
) -> Texts:
    """The source on both sides; of every fourth pair the target."""
    reversed_ = rng.random(len(sources)) < 0.25
    rows = list(zip(sources, targets, reversed_.tolist(), strict=True))
    return [t if r else s for s, t, r in rows], [t if r else s for s, t, r in rows]


def write_corrupted(
    trusted: Path, tasks: Sequence[str], seed: int, output: Path
) -> None:
    """Writes an artifact that ``tokenize`` reads as it reads one of ``ingest``.

    Args:
      trusted: The artifact of ``ingest`` with the text to corrupt.
      tasks: Directions such as ``en-de``.
      seed: Of the corruption.
      output: Folder of the artifact.

    Raises:
      UserError: A task has hardly any text.
    """

    def make(directory: Path) -> Mapping[str, Any]:
        return {
            task: {TRAIN: _write_task(trusted / task, seed, directory / task)}
            for task in tasks
        }

    manifest.complete(
        "select-corrupted",
        output,
        config={"tasks": list(tasks), "seed": seed},
        inputs={"trusted": trusted},
        make=make,
    )


def copy_test_sets(source: Path, target: Path) -> None:
    """Makes the folder of a task, with the test sets of another artifact."""
    target.mkdir()
    for split in splits(source):
        if split != TRAIN:
            for path in split_shards(source, split):
                shutil.copyfile(path, target / path.name)


def _write_task(trusted: Path, seed: int, folder: Path) -> int:
    """Writes one shard of corrupted pairs in random order, and the test sets as they
    are; returns how many corrupted pairs there are."""
    copy_test_sets(trusted, folder)
    sources, targets = sample(split_shards(trusted, TRAIN), _MOST_TRUSTED, seed)
    if len(sources) < _LEAST_TRUSTED:
        raise UserError(
            f"select.contrastive.trusted.{trusted.name}: {len(sources)} pairs are left "
            f"of it; expected at least {_LEAST_TRUSTED}; give more, or see "
            f"{trusted.parent / 'dead_letters'}"
        )
    rng = np.random.default_rng(seed)
    texts = corrupted(sources, targets, rng)
    pairs = [pair for sides in texts for pair in zip(*sides, strict=True)]
    records = (
        {"source": pairs[i][0], "target": pairs[i][1]}
        for i in rng.permutation(len(pairs)).tolist()
    )
    (folder / shard_name(TRAIN, 0, 1)).write_bytes(shard_bytes(records))
    return len(pairs)
