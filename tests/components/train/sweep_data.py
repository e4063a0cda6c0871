"""A small sweep in memory: two tasks that a tiny model can learn."""

import numpy as np

from components.artifacts.test_sets import TestSet
from components.artifacts.token_rows import FIELDS, TokenRows, pack
from components.artifacts.trial import Trial
from components.train.group import Group
from components.train.rows import Rows
from components.train.sweep_data import SweepData

TASKS = ("en-de", "en-fr")
VOCABULARY = 23
LENGTH = 12


def packed_rows(rng, count, shift):
    """Two sentences a row; the target is the source, shifted by the task."""
    source = rng.integers(3, VOCABULARY - shift, (count, LENGTH))
    segments = np.where(np.arange(LENGTH) < 5, 1, 2)
    segments = np.where(np.arange(LENGTH) < LENGTH - 1, segments, 0)
    segments = np.broadcast_to(segments, source.shape).astype("int32")
    return {
        "source_ids": (source * (segments > 0)).astype("int32"),
        "source_segments": segments,
        "target_ids": ((source + shift) * (segments > 0)).astype("int32"),
        "target_segments": segments,
        "examples": np.full(count, 2),
    }


def in_memory(tasks):
    """`Rows` of the columns of each task, without files."""
    most = 1 + max(columns["target_ids"].max() for columns in tasks)
    shards = tuple(pack(columns, most) for columns in tasks)
    return Rows(
        TokenRows(shards),
        np.array([len(shard) for shard in shards]),
        np.array([shard["examples"].mean() for shard in shards]),
        np.array([shard["target_tokens"].mean() for shard in shards]),
    )


def sweep_data(seed=0):
    rng = np.random.default_rng(seed)
    train = [packed_rows(rng, 60, 0), packed_rows(rng, 40, 1)]
    test_sets = []
    for shift, task in enumerate(TASKS):
        rows = packed_rows(rng, 7, shift)
        # Sentence numbers out of order, as shards sorted by hash have them.
        numbers = rng.permutation(14).reshape(7, 2)
        fields = {name: rows[name] for name in FIELDS}
        test_sets.append(TestSet(task, "in_domain", fields, numbers))
    return SweepData(
        vocabulary_size=VOCABULARY,
        vocabulary="digest of a vocabulary",
        tasks=TASKS,
        rows=in_memory(train),
        test_sets=tuple(test_sets),
    )


def group(weights=(0.3, 0.8), seeds=(0, 1)):
    return Group(
        "2k",
        tuple(
            Trial("en-xx", "2k", (("en-de", p), ("en-fr", 1 - p)), seed)
            for p, seed in zip(weights, seeds, strict=True)
        ),
    )
