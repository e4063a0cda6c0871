"""MinHash signatures and the index of near-duplicates."""

from __future__ import annotations

import random

from components.ingest.duplicates import near
from components.ingest.duplicates.keys import comparable
from tests.components.parallel_text import random_sentences


def test_what_an_index_finds_is_what_a_comparison_of_all_with_all_finds():
    rng = random.Random(4)
    tests = random_sentences(rng, 40)
    texts = []
    for text in (*tests, *random_sentences(rng, 20)):
        words = text.split()
        for changed in range(0, 9, 2):
            texts.append(
                " ".join(
                    random_sentences(rng, 1)[0].split()[:changed] + words[changed:]
                )
            )
    signatures = near.signatures(comparable(tests), 7)
    found = near.Index.of(signatures, 0.7, 7).similar(texts)
    mine = near.sketches(near.signatures(comparable(texts), 7))
    theirs = near.sketches(signatures)
    best = [near.similarities(mine[:, i], theirs).max() for i in range(len(texts))]
    wanted = [value >= 0.7 for value in best]
    assert 40 < sum(wanted) < 160
    # Locality-sensitive hashing may miss what only just counts, and makes nothing up.
    missed = [
        value for value, w, f in zip(best, wanted, found, strict=True) if w and not f
    ]
    assert not any(f and not w for f, w in zip(found, wanted, strict=True))
    assert len(missed) <= 2 and all(value < 0.8 for value in missed)
