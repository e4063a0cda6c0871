"""``simulate``: tables from a known law, for trying, teaching and calibrating."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

import numpy as np

from components.artifacts.trial import Trial, format_mixture
from models.errors import UserError
from models.laws.frontier import simplex

SIZES = {
    "19M": 18_881_024,
    "64M": 63_714_816,
    "127M": 127_427_328,
    "191M": 191_139_840,
    "340M": 339_787_776,
    "453M": 453_049_344,
    "708M": 707_869_184,
}
WEIGHTS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0)
LANGUAGES = (
    "de", "zh", "fr", "ru", "fi", "hi", "sw", "ar", "vi", "is", "ja", "tr", "cs", "ta",
    "he", "pl", "ko", "th", "el", "ro",
)  # fmt: skip
COLUMNS = "trial,cohort,size,seed,task,p,mixture,test_set,n,loss,loss_kind".split(",")


def truth(index: int) -> dict[str, float]:
    """Coefficients of the law of the index-th simulated task.

    ``L = beta (f(p) n / 1e8)**-alpha + irreducible_loss`` with
    ``f(p) = p + c1 p**c2 (1 - p)**c3`` ([M] eq. 11-12).
    """
    return {
        "alpha": 0.30 - 0.02 * (index % 3),
        "beta": 0.45 + 0.08 * (index % 4),
        "irreducible_loss": 1.2 + 0.15 * (index % 5),
        "c1": 0.3,
        "c2": 0.8,
        "c3": 1.2,
    }


def true_loss(index: int, n: float, p: float) -> float:
    """What a run of the index-th task would measure without noise."""
    law = truth(index)
    f = p + law["c1"] * p ** law["c2"] * (1 - p) ** law["c3"]
    return law["beta"] * (f * n / 1e8) ** -law["alpha"] + law["irreducible_loss"]


def simulate_table(tasks: int = 2, noise: float = 0.003, seed: int = 0) -> str:
    """A metrics table of the paper's sizes with Gaussian seed noise.

    Args:
      tasks: How many tasks the mixtures are over.
      noise: Standard deviation of a measured loss, in nats per token.
      seed: Of the noise.

    Returns:
      CSV text.

    Raises:
      UserError: A number of tasks or a noise that cannot be.
    """
    if not 1 <= tasks <= len(LANGUAGES):
        raise UserError(f"tasks: {tasks}; expected 1 to {len(LANGUAGES)}")
    if not (math.isfinite(noise) and noise >= 0):
        raise UserError(f"noise: {noise:g}; expected a standard deviation of 0 or more")
    if seed < 0:
        raise UserError(f"seed: {seed}; expected 0 or more")
    rng = np.random.default_rng(seed)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in _trials(tasks):
        mixture = dict(trial.mixture)
        for index, (task, p) in enumerate(mixture.items()):
            if p == 0:
                continue
            n = SIZES[trial.size]
            loss = true_loss(index, n, p) + noise * rng.standard_normal()
            head = [trial.id, trial.cohort, trial.size, trial.seed, task, f"{p:.10g}"]
            tail = [format_mixture(mixture), "in_domain", n, f"{loss:.6f}", "final"]
            writer.writerow([*head, *tail])
    return buffer.getvalue()


def _trials(tasks: int) -> Iterator[Trial]:
    names = [f"en-{language}" for language in LANGUAGES[:tasks]]
    for size in SIZES:
        for weights in _mixtures(tasks):
            mixture = tuple(zip(names, weights, strict=True))
            yield Trial("en-xx", size, mixture)


def _mixtures(tasks: int) -> list[list[float]]:
    if tasks == 1:
        return [[1.0]]
    if tasks == 2:
        first = sorted({0.0, *WEIGHTS})
        return [[p, round(1 - p, 10)] for p in first]
    return [*np.eye(tasks).tolist(), *simplex(tasks, 12).round(10).tolist()]
