"""Pairs that are surely no translations, made from pairs that mostly are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MARKS = "`_*<>[]{}=+#@~^|\\/&%$"  # of markup and code: translations keep them
Texts = tuple[list[str], list[str]]
_NEIGHBOURS = 20


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
    found = [""] * len(targets)
    for here, there in zip(order.tolist(), moved.tolist(), strict=True):
        found[here] = targets[there]
    return found


def rewritten(
    targets: Sequence[str], others: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """A part of each target, from nothing to two thirds, gives way to a part of the
    other one, longer or shorter: words exchanged, left out, or too many."""
    found = []
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
        found.append(text.strip() or other)
    return found


def without_marks(
    sources: Sequence[str], targets: Sequence[str], rng: np.random.Generator
) -> Texts:
    """The targets that have marks of markup and code, without one kind of them."""
    found: Texts = ([], [])
    for source, target in zip(sources, targets, strict=True):
        if marks := sorted(set(target).intersection(MARKS)):
            left = target.replace(marks[rng.integers(len(marks))], "")
            if left.strip():
                found[0].append(source)
                found[1].append(left)
    return found


def _copied(
    sources: Sequence[str], targets: Sequence[str], rng: np.random.Generator
) -> Texts:
    """The source on both sides; of every fourth pair the target."""
    reversed_ = rng.random(len(sources)) < 0.25
    rows = list(zip(sources, targets, reversed_.tolist(), strict=True))
    return [t if r else s for s, t, r in rows], [t if r else s for s, t, r in rows]
