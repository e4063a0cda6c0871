"""Sentences that translations connect: components of the graph whose nodes are
sentences (of any language) and whose edges are pairs.

Two training pairs of one component are translations, or translations of
translations, of each other, so a component with a test sentence would leak
paraphrases of it. Most sentences stand alone with their translation; only
components of two or more pairs are kept.
"""

from __future__ import annotations

import dataclasses

import numpy as np

ALONE = -1


@dataclasses.dataclass(frozen=True)
class Connected:
    """The components of two or more pairs.

    Attributes:
      nodes: uint64 [m], keys of their sentences, rising.
      labels: int32 [m], component of each, from 0.
      sizes: int32 [m], pairs of that component.
    """

    nodes: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray

    def of(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Component (`ALONE` for none) and size, int32 [n] both, of each key."""
        if not len(self.nodes):
            alone = np.full(len(keys), ALONE, np.int32)
            return alone, np.ones(len(keys), np.int32)
        at = np.minimum(np.searchsorted(self.nodes, keys), len(self.nodes) - 1)
        found = self.nodes[at] == keys
        labels, sizes = self.labels[at], self.sizes[at]
        labels[~found], sizes[~found] = ALONE, 1
        return labels, sizes

    @classmethod
    def none(cls) -> Connected:
        """No components: every pair stands alone."""
        return cls(np.zeros(0, np.uint64), *np.zeros((2, 0), np.int32))


def connect(source_keys: np.ndarray, target_keys: np.ndarray) -> Connected:
    """The components of a graph of sentences.

    Args:
      source_keys: uint64 [n], one end of each pair.
      target_keys: uint64 [n], the other.

    Example:
      Two translations of sentence 1, one of which translates sentence 2 as well:

      >>> pairs = np.array([[1, 5], [1, 6], [2, 6], [3, 7]], np.uint64)
      >>> found = connect(*pairs.T)
      >>> found.nodes.tolist(), found.labels.tolist(), found.sizes.tolist()
      ([1, 2, 5, 6], [0, 0, 0, 0], [3, 3, 3, 3])
    """
    repeated = _repeated(np.concatenate([source_keys, target_keys]))
    shared = _among(source_keys, repeated) | _among(target_keys, repeated)
    source_keys, target_keys = source_keys[shared], target_keys[shared]
    if not len(source_keys):
        return Connected.none()
    nodes = _distinct(np.concatenate([source_keys, target_keys]))
    left = np.searchsorted(nodes, source_keys).astype(np.int32)
    right = np.searchsorted(nodes, target_keys).astype(np.int32)
    roots = _roots(left, right, len(nodes))
    sizes = np.bincount(roots[left], minlength=len(nodes)).astype(np.int32)[roots]
    first = roots == np.arange(len(nodes), dtype=np.int32)
    labels = (np.cumsum(first, dtype=np.int32) - 1)[roots]
    return Connected(nodes, labels, sizes)


def _repeated(keys: np.ndarray) -> np.ndarray:
    """Keys that stand there twice or more, rising; the argument is sorted."""
    keys.sort()
    return _distinct(keys[1:][keys[1:] == keys[:-1]])


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Every key once, rising; the argument is sorted: of large arrays every copy
    counts."""
    keys.sort()
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first]


def _among(keys: np.ndarray, rising: np.ndarray) -> np.ndarray:
    if not len(rising):
        return np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(rising, keys), len(rising) - 1)
    return rising[at] == keys


def _roots(left: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
    """The smallest node of each node's component, int32 [count].

    Every root points to the smallest root that it shares an edge with, then every
    node to its root, until nothing moves: a number of rounds that grows with the
    logarithm of the longest path (Shiloach and Vishkin 1982).
    """
    roots = np.arange(count, dtype=np.int32)
    while True:
        ends = roots[left], roots[right]
        low = np.minimum(*ends)
        for end in ends:
            np.minimum.at(roots, end, low)
        while not np.array_equal(further := roots[roots], roots):
            roots = further
        if np.array_equal(roots[left], roots[right]):
            return roots
