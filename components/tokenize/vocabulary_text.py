"""The sentences that the vocabulary is trained on: the first ones of every task.

Shards of ``ingest`` are in the order of a hash, so their beginning is a uniform sample
without replacement, the same one every time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from components.artifacts.text_shards import TRAIN, read_shard, split_shards


def read(
    ingest: Path,
    counts: Mapping[str, int],
    sentences: int,
    temperature: float | None,
) -> dict[str, list[str]]:
    """The training text of each language.

    Args:
      ingest: The artifact of ``ingest``.
      counts: Task, such as ``en-de``, -> its training pairs.
      sentences: Sentences of each language, or pairs of a task on average.
      temperature: None: as many sentences of every language, at most those of the
        language that has the fewest. A number: pairs of each task in proportion to
        ``n ** (1 / temperature)``.

    Returns:
      Language -> sentences, in an order that depends on nothing else.
    """
    sides: dict[str, list[Sequence[str]]] = {}
    for task, count in sorted(pairs_of_tasks(counts, sentences, temperature).items()):
        pairs = list(itertools.islice(_pairs(ingest / task), count))
        for side, language in enumerate(task.split("-", 1)):
            sides.setdefault(language, []).append([pair[side] for pair in pairs])
    texts = {language: _alternate(sides[language]) for language in sorted(sides)}
    if temperature is not None:
        return texts
    fewest = min(sentences, *map(len, texts.values()))
    return {language: text[:fewest] for language, text in texts.items()}


def pairs_of_tasks(
    counts: Mapping[str, int], sentences: int, temperature: float | None
) -> dict[str, int]:
    """Pairs of each task, ``sentences`` a task on average.

    Example:
      Proportional, and flatter; a task gives no more than it has.

      >>> pairs_of_tasks({"en-de": 900, "en-zh": 100}, 50, 1.0)
      {'en-de': 90, 'en-zh': 10}
      >>> pairs_of_tasks({"en-de": 900, "en-zh": 100}, 50, 2.0)
      {'en-de': 75, 'en-zh': 25}
    """
    if temperature is None:
        return dict.fromkeys(counts, sentences)
    weights = {task: count ** (1 / temperature) for task, count in counts.items()}
    total = sum(weights.values()) or 1.0
    wanted = sentences * len(counts)
    return {
        task: min(counts[task], max(1, round(wanted * weight / total)))
        for task, weight in weights.items()
    }


def _pairs(directory: Path) -> Iterator[tuple[str, str]]:
    for path in split_shards(directory, TRAIN):
        for record in read_shard(path):
            yield record["source"], record["target"]


def _alternate(texts: Sequence[Sequence[str]]) -> list[str]:
    """One of each in turn until all are exhausted."""
    turns = itertools.zip_longest(*texts)
    return [text for turn in turns for text in turn if text is not None]
