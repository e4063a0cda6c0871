"""Noise that the tasks of one trial share, and what it does to chosen weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from components.fit import law_file
from models.laws import Law, Observations, fit_approximate, observations, recommend
from models.laws.shared_noise import with_shared_noise

SIZES = np.array([2, 5, 10, 20, 40]) * 1e7
TASKS = {"en-de": (0.30, 0.45, 1.2), "en-fr": (0.25, 0.60, 1.5)}
NOISE = 0.003


def truth(task: str, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    alpha, beta, floor = TASKS[task]
    return beta * ((0.2 + 0.8 * p) * n / 1e8) ** -alpha + floor


def table(rho: float, seed: int = 0, named: bool = True) -> Observations:
    """Two tasks whose noise in one trial has this correlation."""
    rng = np.random.default_rng(seed)
    n, p = (part.ravel() for part in np.meshgrid(SIZES, [0.1, 0.3, 0.5, 0.7, 0.9]))
    noise = rng.standard_normal((2, len(n)))
    noise[1] = rho * noise[0] + (1 - rho**2) ** 0.5 * noise[1]
    own = {"en-de": p, "en-fr": 1 - p}
    values = [truth(t, n, own[t]) + NOISE * e for t, e in zip(own, noise, strict=True)]
    mixtures = [{"en-de": q, "en-fr": 1 - q} for q in p]
    return observations(
        task=np.repeat(list(TASKS), len(n)).tolist(),
        n=np.tile(n, 2),
        p=np.concatenate(list(own.values())),
        value=np.concatenate(values),
        mixture=mixtures * 2,
        trial=[f"t{k}" for k in range(len(n))] * 2 if named else None,
    )


def fitted(runs: Observations, form: str = "linear") -> list[Law]:
    laws = [fit_approximate(group, form) for *_, group in runs.by_task()]
    return with_shared_noise(laws, runs)


def half_width(laws: list[Law]) -> float:
    low, high = recommend(laws, 1e9).weight_intervals["en-de"]
    return 0.5 * (high - low)


def test_the_covariance_between_laws_is_that_of_repeated_tables() -> None:
    thetas, planned = [], []
    for seed in range(60):
        laws = fitted(table(0.7, seed))
        thetas.append(np.concatenate([law.theta for law in laws]))
        planned.append(laws[0].shared_noise["en-fr"])
    between = np.cov(np.array(thetas).T)[:4, 4:]
    own = [
        np.sqrt(np.diag(np.cov(np.array(thetas).T)))[part]
        for part in (np.s_[:4], np.s_[4:])
    ]
    scale = np.outer(*own)
    # The correlations of four coefficients with four, each known to about .1.
    np.testing.assert_allclose(np.mean(planned, 0) / scale, between / scale, atol=0.35)
    np.testing.assert_allclose(
        laws[0].shared_noise["en-fr"], laws[1].shared_noise["en-de"].T
    )


@pytest.mark.parametrize(("rho", "low", "high"), [(-0.9, 0.4, 0.9), (0.9, 1.1, 1.6)])
def test_what_is_shared_changes_how_sure_the_weights_are(
    rho: float, low: float, high: float
) -> None:
    laws = fitted(table(rho), "flexible")
    apart = [dataclasses.replace(law, shared_noise={}) for law in laws]
    assert low < half_width(laws) / half_width(apart) < high


def test_runs_without_names_are_matched_by_what_they_are() -> None:
    named, unnamed = (fitted(table(0.6, named=named))[0] for named in (True, False))
    np.testing.assert_allclose(
        named.shared_noise["en-fr"], unnamed.shared_noise["en-fr"]
    )


def test_tasks_of_different_trials_share_nothing() -> None:
    runs = table(0.9)
    half = len(runs) // 2
    size = np.concatenate([runs.n[:half], 1.1 * runs.n[half:]])
    trial = np.array([f"r{k}" for k in range(len(runs))])
    apart = dataclasses.replace(runs, n=size, trial=trial)
    assert all(not law.shared_noise for law in fitted(apart))


def test_it_survives_the_law_file(tmp_path: Path) -> None:
    laws = fitted(table(0.8))
    law_file.save(tmp_path / "laws.json", law_file.LawFile(tuple(laws)))
    loaded = list(law_file.load(tmp_path / "laws.json").laws)
    assert half_width(loaded) == pytest.approx(half_width(laws), rel=1e-6)
