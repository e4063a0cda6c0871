"""Digests by which sentences and pairs are compared, ordered and split.

A sentence's key does not see case, punctuation, spaces or compatibility forms,
so that ``Look out!`` in a test set meets ``look out`` in the training data. Only
digests are shuffled and compared between records, never text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

_NOT_COUNTED = re.compile(r"[^\w\n]+|_+")


def comparable(texts: Sequence[str]) -> list[str]:
    """What is left of sentences when case and punctuation do not count.

    Letters and digits of the case-folded compatibility form (NFKC). A sentence
    that has none of them, such as an emoji, stands for itself.

    Args:
      texts: Sentences without line feeds.

    Returns:
      As many strings.
    """
    folded = unicodedata.normalize("NFKC", "\n".join(texts).casefold())
    kept = _NOT_COUNTED.sub("", folded).split("\n")
    return [key or text for key, text in zip(kept, texts, strict=True)]


def sentence_keys(texts: Sequence[str], seed: int) -> np.ndarray:
    """Key of each sentence, uint64 [len(texts)]; equal for comparable sentences."""
    return _digests(comparable(texts) if texts else [], seed, b"sentence")


def pair_keys(
    task: str, sources: Sequence[str], targets: Sequence[str], seed: int
) -> np.ndarray:
    """Key of each pair as it stands, uint64 [len(sources)]; also its place in the
    shuffled order."""
    pairs = zip(sources, targets, strict=True)
    texts = (f"{source}\n{target}" for source, target in pairs)
    return _digests(texts, seed, task.encode())


def _digests(texts: Iterable[str], seed: int, kind: bytes) -> np.ndarray:
    start = hashlib.blake2b(kind, digest_size=8, key=seed.to_bytes(8, "big"))
    digests = []
    for text in texts:
        digest = start.copy()
        digest.update(text.encode())
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
