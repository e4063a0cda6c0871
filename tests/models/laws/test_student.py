"""Student's t and Fisher's F against SciPy's, and where they have closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc, fdtrc, stdtrit

from models.laws.student import f_survival, incomplete_beta, t_quantile


@pytest.mark.parametrize("probability", [0.5, 0.63, 0.9, 0.975, 0.9999])
@pytest.mark.parametrize("dof", [0.7, 1, 2.37, 5, 46, 390.5, 3999, 4001, 1e6])
def test_t_quantiles_are_those_of_scipy(probability: float, dof: float) -> None:
    expected = float(stdtrit(dof, probability))
    assert t_quantile(probability, dof) == pytest.approx(expected, rel=2e-9, abs=1e-7)


def test_t_of_one_degree_of_freedom_is_cauchys() -> None:
    assert t_quantile(0.83, 1.0) == pytest.approx(math.tan(math.pi * 0.33), rel=1e-12)


def test_f_survival_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    for dof, other in rng.integers(1, 300, (200, 2)).tolist():
        value = float(np.exp(rng.normal()))
        expected = float(fdtrc(dof, other, value))
        assert f_survival(value, dof, other) == pytest.approx(expected, abs=1e-11)


def test_incomplete_beta_between_its_ends() -> None:
    assert (incomplete_beta(2.5, 3, 0), incomplete_beta(2.5, 3, 1)) == (0.0, 1.0)
    for a, b, x in [(0.3, 7.2, 0.01), (80.5, 0.5, 0.97), (2000, 0.5, 0.9985)]:
        expected = float(betainc(a, b, x))
        assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-10)
