"""Learning curves from a known law of size, data and mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.laws.observations import Observations, observations

TASKS = ("en-de", "en-fr")
SIZES = (3e4, 6e4, 1e5, 2e5, 3e5)
WEIGHTS = (0.2, 0.4, 0.7, 1.0)
FLOOR, BETA, ALPHA, BETA_DATA, ALPHA_DATA = 0.9, 0.5, 0.35, 0.25, 0.6
TOKENS = 4e6  # of both tasks, of a whole run
RUN_SD, POINT_SD = 0.004, 0.002


def loss(
    n: np.ndarray, p: np.ndarray, tokens: np.ndarray, join: float = 1.0
) -> np.ndarray:
    """The true loss; ``tokens`` are the task's own."""
    fraction = p + 0.4 * p**0.5 * (1 - p)
    x = BETA * (fraction * n / 1e5) ** -ALPHA
    y = BETA_DATA * (tokens / 2e6) ** -ALPHA_DATA
    return FLOOR + (x ** (1 / join) + y ** (1 / join)) ** join


def curves(
    rng: np.random.Generator,
    sizes: Sequence[float] = SIZES,
    weights: Sequence[float] = WEIGHTS,
    evaluations: int = 9,
    join: float = 1.0,
    noise: float = 1.0,
) -> Observations:
    """Every evaluation of one run for each size and weight of en-de."""
    n, p, share = (
        part.ravel()
        for part in np.meshgrid(
            sizes, weights, np.arange(1, evaluations + 1) / evaluations, indexing="ij"
        )
    )
    run = np.repeat(np.arange(len(sizes) * len(weights)), evaluations)
    common = RUN_SD * rng.standard_normal(run.max() + 1)[run]
    own = POINT_SD * rng.standard_normal(len(run))
    value = loss(n, p, p * share * TOKENS, join) * (1 + noise * (common + own))
    return observations(
        task=["en-de"] * len(n),
        n=n,
        p=p,
        value=value,
        mixture=[{"en-de": w, "en-fr": 1 - w} for w in p.tolist()],
        trial=[f"r{k}" for k in run],
        tokens=[
            {"en-de": w * s * TOKENS, "en-fr": (1 - w) * s * TOKENS}
            for w, s in zip(p.tolist(), share.tolist(), strict=True)
        ],
        step=np.rint(share * 1000),
    )
