"""The language that test sentences were first written in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MIXED = "mixed"


def parts_by_origin(origins: Sequence[str], sentences: int) -> dict[str, np.ndarray]:
    """A test set and its halves by original language.

    Example:
      >>> parts = parts_by_origin(["source", "target", "target"], 3)
      >>> {origin: part.tolist() for origin, part in parts.items()}
      ... # doctest: +NORMALIZE_WHITESPACE
      {'mixed': [True, True, True], 'source': [True, False, False],
       'target': [False, True, True]}

    Args:
      origins: Of each sentence; empty when it is not known.
      sentences: How many there are.

    Returns:
      Origin -> which sentences belong to it, bool ``[sentences]``. A test set of one
      origin has that one only; others have ``mixed``, all of them, and ``source``
      and ``target`` where there are any.
    """
    everything = np.ones(sentences, bool)
    if not origins:
        return {MIXED: everything}
    own = np.array(origins)
    if len(set(origins)) == 1:
        return {origins[0]: everything}
    halves = {name: own == name for name in ("source", "target")}
    return {MIXED: everything} | {n: m for n, m in halves.items() if m.any()}
