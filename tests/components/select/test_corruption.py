"""Pairs that are surely no translations."""

from __future__ import annotations

import random

import numpy as np
import pytest

from components.artifacts.text_shards import read_shard, split_shards
from components.select import corruption
from models.errors import UserError
from tests.components.select.noisy_text import (
    TASKS,
    clean_texts,
    pairs,
    write_ingest,
)


def test_misaligned_targets_are_all_there_and_none_is_where_it_was():
    _, targets = clean_texts()
    targets = list(dict.fromkeys(targets))
    moved = corruption.misaligned(targets, np.random.default_rng(0))
    assert sorted(moved) == sorted(targets)
    assert all(a != b for a, b in zip(moved, targets, strict=True))
    sizes = np.array([len(text) for text in targets])
    apart = np.abs(sizes - [len(text) for text in moved]).mean()
    shuffled = np.abs(sizes - np.random.default_rng(1).permutation(sizes)).mean()
    assert apart < shuffled / 2
    assert corruption.misaligned(["a", "bcd"], np.random.default_rng(1)) == ["bcd", "a"]


@pytest.mark.parametrize("gap", [" ", ""])
def test_rewritten_targets_have_some_words_of_the_other(gap):
    rng = random.Random(4)
    own, other = (
        [gap.join(rng.choices(letters, k=12)) for _ in range(400)]
        for letters in ("abcdef", "uvwxyz")
    )
    found = corruption.rewritten(own, other, np.random.default_rng(0))
    assert all(a != b for a, b in zip(found, own, strict=True))
    sizes = np.array([[sum(c in s for c in text) for s in ("abcdef", "uvwxyz")]
                      for text in found])  # fmt: skip
    kept, added = sizes[:, 0] / 12, sizes[:, 1] / 12
    assert kept.min() >= 1 / 3 - 0.05 and added.max() <= 2 / 3 + 0.05
    assert 0.6 < kept.mean() < 0.72 and 0.28 < added.mean() < 0.4
    assert np.std(kept + added) > 0.15  # longer and shorter
    short = corruption.rewritten(["x"] * 50, ["y"] * 50, np.random.default_rng(2))
    assert all(short)


def test_markup_is_lost_where_there_is_some():
    rng = np.random.default_rng(0)
    sources = ["use `x`", "plain", "<b>bold</b>", "`"]
    targets = ["nimm `x`", "schlicht", "<b>fett</b>", "`"]
    kept, found = corruption.without_marks(sources, targets, rng)
    assert kept == ["use `x`", "<b>bold</b>"]
    assert found[0] == "nimm x"
    assert found[1] != targets[2] and set(found[1]) < set(targets[2])


def test_trusted_text_of_a_few_pairs_is_too_little(tmp_path):
    trusted = write_ingest(tmp_path / "trusted", count=12)
    with pytest.raises(UserError, match=r"trusted\.en-de: 12 pairs are left of it"):
        corruption.write_corrupted(trusted, TASKS, 0, tmp_path / "corrupted")
    assert not (tmp_path / "corrupted").exists()


def test_corrupted_text_is_the_trusted_text_misaligned_copied_and_rewritten(tmp_path):
    trusted = write_ingest(tmp_path / "trusted", count=90)
    corruption.write_corrupted(trusted, TASKS, 0, tmp_path / "corrupted")
    corruption.write_corrupted(trusted, TASKS, 1, tmp_path / "other")
    for task in TASKS:
        good = {(source, target) for source, target, _ in pairs(task, 90)}
        (shard,) = split_shards(tmp_path / "corrupted" / task, "train")
        bad = [(r["source"], r["target"]) for r in read_shard(shard)]
        assert 3 * 90 <= len(bad) <= 4 * 90
        assert sum(source == target for source, target in bad) >= 90
        clean = {row[:2] for row in pairs(task, 90) if row[2] == "clean"}
        assert sum(pair in clean for pair in bad) < 10
        assert {t for _, t in bad} & {t for _, t in good}
        (other,) = split_shards(tmp_path / "other" / task, "train")
        assert other.read_bytes() != shard.read_bytes()
