"""Scores that are added up; see `test_scoring_models` for those of real models."""

from __future__ import annotations

import dataclasses
import doctest

import numpy as np
import pytest

from components.select import contrastive_score
from components.select.contrastive_score import combine


def test_the_worked_example_of_the_docstring():
    failed, tried = doctest.testmod(contrastive_score, extraglobs={"np": np})
    assert failed == 0 < tried


@dataclasses.dataclass(frozen=True)
class Column:
    """Scores that are known beforehand."""

    values: dict[str, float]

    def scores(self, sources, targets):
        return np.array([self.values[source] for source in sources], np.float32)


def test_scores_are_added_in_units_of_their_spread():
    rng = np.random.default_rng(9)
    names = [f"s{i}" for i in range(500)]
    small, large = rng.normal(3, 0.01, 500), rng.normal(-40, 90, 500)
    small[17] = 1e6  # one value far out does not silence the others
    parts = [Column(dict(zip(names, own, strict=True))) for own in (small, large)]
    found = combine(parts, names, names).scores(names[100:], names[100:])
    assert found.dtype == np.float32
    for own in (small, large):
        assert np.corrcoef(found, own[100:])[0, 1] == pytest.approx(0.7, abs=0.06)
    same = combine([Column(dict.fromkeys(names, 2.0))], names, names)
    assert not same.scores(names, names).any()
