"""Training sentences that are nearly those of test sets.

Where near-duplicates count as duplicates, a near-duplicate of a test sentence is a
leak like the sentence itself. Test sentences are few: their signatures go to every
worker, and the text of a bucket is looked up in them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from components.ingest import near
from components.ingest.keys import comparable
from components.ingest.spill import Packed

_TOGETHER = 4096


@dataclasses.dataclass(frozen=True)
class Resemblance:
    """The sentences of all test sets, found by what is similar to them.

    Attributes:
      similarity: Least Jaccard similarity of character 5-grams.
      keys: uint64 [bands, m], those of each band rising.
      order: int64 [bands, m], the sentence of each key.
      sketches: uint64 [`near.WORDS`, m].
      seed: Of the hash functions.
    """

    similarity: float
    keys: np.ndarray
    order: np.ndarray
    sketches: np.ndarray
    seed: int

    @classmethod
    def of(cls, signatures: np.ndarray, similarity: float, seed: int) -> Resemblance:
        """Makes it from the signatures of the test sentences, uint32 [m, HASHES]."""
        keys = near.band_keys(signatures, near.bands_of(similarity), 0).T
        order = np.argsort(keys, axis=1, kind="stable")
        keys = np.take_along_axis(keys, order, axis=1)
        return cls(similarity, keys, order, near.sketches(signatures), seed)

    def shown_by(self, packed: Packed, among: np.ndarray) -> np.ndarray:
        """Which pairs have a side that is similar to a test sentence.

        Args:
          packed: ``n`` pairs.
          among: int64, positions of those that are asked about.

        Returns:
          bool [n], false for all others.
        """
        found = np.zeros(len(packed), bool)
        for start in range(0, len(among), _TOGETHER):
            own = among[start : start + _TOGETHER]
            rows = [(source, target) for _, source, target in packed.pairs(own)]
            for texts in zip(*rows, strict=True):
                found[own] |= self.similar(texts)
        return found

    def similar(self, texts: Sequence[str]) -> np.ndarray:
        """Which sentences are similar to one of a test set, bool [n]."""
        signatures = near.signatures(comparable(texts), self.seed)
        sketches = near.sketches(signatures)
        bands = near.band_keys(signatures, len(self.keys), 0).T
        found = np.zeros(len(texts), bool)
        for keys, order, wanted in zip(self.keys, self.order, bands, strict=True):
            first = np.searchsorted(keys, wanted, side="left")
            last = np.searchsorted(keys, wanted, side="right")
            for i in np.flatnonzero((last > first) & ~found).tolist():
                met = self.sketches[:, order[first[i] : last[i]]]
                alike = near.similarities(sketches[:, i], met)
                found[i] = alike.max() >= self.similarity
        return found
