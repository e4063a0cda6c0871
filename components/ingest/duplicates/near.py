"""Near-duplicates: MinHash signatures of sentences, in batches of arrays.

The share of positions in which two signatures agree estimates the Jaccard
similarity of the sets of character n-grams (Broder 1997). Signatures are cut into
bands; sentences that agree in all of a band are compared (locality-sensitive
hashing, Indyk and Motwani 1998), and the whole signatures decide. Libraries hash one
document a call; here a batch of sentences is a few operations of NumPy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from components.ingest.duplicates.keys import comparable

HASHES = 64
SKETCH_WORDS = HASHES // 8
_NGRAM = 5
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def bands_of(similarity: float) -> int:
    """Bands that find pairs of this similarity (and above) almost always: with 8
    rows in each of 8 bands, 97 % at .88 and 99 % at .9; with 4 in each of 16, 98 %
    at .68 and more than 99.9 % at .8."""
    return 8 if similarity >= 0.88 else 16


def signatures(texts: Sequence[str], seed: int) -> np.ndarray:
    """MinHash signatures of the character 5-grams of texts.

    Args:
      texts: Comparable texts (see `duplicates.keys`), none of them empty.
      seed: Seed of the hash functions.

    Returns:
      uint32 [len(texts), HASHES].
    """
    if not texts:
        return np.zeros((0, HASHES), np.uint32)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    padded = (" " * (_NGRAM - 1)).join([*texts, ""])
    points = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), np.uint32)
    windows = np.zeros(len(points) - _NGRAM + 1, np.uint64)
    for offset in range(_NGRAM):
        windows = windows * np.uint64(0x100000001B3) + points[offset:][: len(windows)]
    starts = np.cumsum(lengths + _NGRAM - 1) - (lengths + _NGRAM - 1)
    within = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    grams = _mixed(windows[within + np.arange(len(within))])
    firsts = np.cumsum(lengths) - lengths
    random = np.random.default_rng(seed).integers(2**63, size=(HASHES, 2))
    found = np.empty((len(texts), HASHES), np.uint32)
    for number, (factor, added) in enumerate(random.astype(np.uint64)):
        hashed = (grams * (factor | np.uint64(1)) + added) >> np.uint64(32)
        found[:, number] = np.minimum.reduceat(hashed, firsts)
    return found


def band_keys(found: np.ndarray, bands: int) -> np.ndarray:
    """One key for each band of each signature, uint64 [bands, n].

    Args:
      found: uint32 [n, HASHES].
      bands: Bands, a divisor of `HASHES`.
    """
    rows = found.reshape(len(found), bands, -1).astype(np.uint64)
    start = _mixed(np.arange(bands, dtype=np.uint64))
    keys = np.broadcast_to(start, rows.shape[:2])
    for row in range(rows.shape[2]):
        keys = _mixed(keys ^ rows[:, :, row])
    return keys.T


def sketches(found: np.ndarray) -> np.ndarray:
    """A byte of each hash: signatures as they travel, uint64 [SKETCH_WORDS, n]."""
    low = np.ascontiguousarray(found.astype(np.uint8))
    return np.ascontiguousarray(low.view(np.uint64).T)


def similarities(sketch: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Estimated Jaccard similarity of one sketch with others, float [n].

    Bytes agree by chance once in 256 times, which is taken out.

    Args:
      sketch: uint64 [SKETCH_WORDS].
      others: uint64 [SKETCH_WORDS, n].
    """
    agree = np.ascontiguousarray((others ^ sketch[:, None]).T).view(np.uint8) == 0
    return (agree.reshape(others.shape[1], HASHES).mean(1) - 1 / 256) * 256 / 255


@dataclasses.dataclass(frozen=True)
class Index:
    """An index of sentences that finds what is similar to one of them.

    Attributes:
      similarity: Least Jaccard similarity of character 5-grams.
      keys: uint64 [bands, m], those of each band rising.
      order: int64 [bands, m], the sentence of each key.
      sketches: uint64 [`SKETCH_WORDS`, m].
      seed: Of the hash functions.
    """

    similarity: float
    keys: np.ndarray
    order: np.ndarray
    sketches: np.ndarray
    seed: int

    @classmethod
    def of(cls, found: np.ndarray, similarity: float, seed: int) -> Index:
        """Makes it from the signatures of the sentences, uint32 [m, HASHES]."""
        keys = band_keys(found, bands_of(similarity))
        order = np.argsort(keys, axis=1, kind="stable")
        keys = np.take_along_axis(keys, order, axis=1)
        return cls(similarity, keys, order, sketches(found), seed)

    def similar(self, texts: Sequence[str]) -> np.ndarray:
        """Which texts are similar to a sentence of the index, bool [n]."""
        own = signatures(comparable(texts), self.seed)
        own_sketches = sketches(own)
        bands = band_keys(own, len(self.keys))
        found = np.zeros(len(texts), bool)
        for keys, order, wanted in zip(self.keys, self.order, bands, strict=True):
            first = np.searchsorted(keys, wanted, side="left")
            last = np.searchsorted(keys, wanted, side="right")
            for i in np.flatnonzero((last > first) & ~found).tolist():
                candidates = self.sketches[:, order[first[i] : last[i]]]
                similarity = similarities(own_sketches[:, i], candidates)
                found[i] = similarity.max() >= self.similarity
        return found


def _mixed(keys: np.ndarray) -> np.ndarray:
    """A bijection of uint64 whose every bit depends on every bit (Stafford's mix
    13, as in splitmix64)."""
    keys = keys + _GOLDEN
    keys = (keys ^ keys >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ keys >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return keys ^ keys >> np.uint64(31)
