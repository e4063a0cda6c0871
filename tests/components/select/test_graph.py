"""Which pairs are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from components.select.config import Config
from components.select.graph import Job, rank


def test_ties_are_cut_in_order_and_what_is_no_number_goes_first():
    shards = [Job("en-de", index, 2, Path()) for index in (1, 0)]
    scores = [
        np.array([2.0, np.nan, 2.0], np.float32),
        np.array([3.0, 1.0, 2.0], np.float32),
    ]
    scored = list(zip(shards, scores, strict=True))
    first, second = rank(scored, Config(keep=0.5))
    assert first.ranks.tolist() == [0, 4, 1]
    assert second.ranks.tolist() == [2, 5, 3]
    assert (first.job.index, second.job.index) == (0, 1)
    assert first.kept == second.kept == 3
    assert rank(scored, Config(keep=1.0))[0].kept == 6
    assert rank(scored, Config(keep=1e-6))[0].kept == 1
