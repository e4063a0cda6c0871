"""What part of a sweep pins a prediction: the subsets found, and what is attainable.

    python benchmarks/laws_design.py [--simulations 200]

45 trials (5 sizes x 9 mixtures of two tasks, cost proportional to size), predicting
1e9 at the inner mixtures. For every interval: the trials found, their share of the
cost, the least share that any choice of trials could have (each trial taken whole or
in part, which is a convex problem, and Student's factor left out), and the ratio of
errors that fits of simulated tables really have.
"""

from __future__ import annotations

import argparse

import numpy as np
from laws_coverage import draw, truth
from scipy.optimize import minimize

from models.laws import Options, Query, fit_approximate
from models.laws.design import cheapest
from models.laws.precision import Precision, precision

SIZES = np.array([18.9, 63.7, 127.4, 191.1, 339.8]) * 1e6
WEIGHTS = np.array([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
TARGET = 1e9
RATIOS = (1.1, 1.3, 1.5, 2.0)


def sweep() -> tuple[Precision, np.ndarray, np.ndarray]:
    """The trials: what they tell, their sizes and the first task's weights."""
    n, p = (part.ravel() for part in np.meshgrid(SIZES, WEIGHTS))
    inner = WEIGHTS[1:-1]
    known = precision(
        ("a", "b"),
        n,
        np.column_stack([p, 1 - p]),
        n,
        target_n=TARGET,
        target_shares=np.column_stack([inner, 1 - inner]),
    )
    return known, n, p


def mean_width(known: Precision, part: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean standard deviation of a new run when so much of each trial is trained."""
    total, slope = 0.0, np.zeros(len(part))
    for task in known.tasks:
        matrix = task.prior + (task.rows * part[:, None]).T @ task.rows
        towards = np.linalg.solve(matrix, task.goals.T)
        deviation = np.sqrt(1.0 + (task.goals.T * towards).sum(0))
        total += task.noise_sd * deviation.mean()
        slope -= task.noise_sd * ((task.rows @ towards) ** 2 / (2 * deviation)).mean(1)
    return total / len(known.tasks), slope / len(known.tasks)


def least_share(known: Precision, ratio: float) -> float:
    """Share of the cost that any choice within this interval needs."""
    everything = np.ones(len(known.n))
    limit = ratio * mean_width(known, everything)[0]
    price = known.cost / known.cost.sum()
    found = minimize(
        lambda part: (float(price @ part), price),
        0.5 * everything,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(price),
        constraints={
            "type": "ineq",
            "fun": lambda part: limit / mean_width(known, part)[0] - 1.0,
            "jac": lambda part: (
                -limit * mean_width(known, part)[1] / mean_width(known, part)[0] ** 2
            ),
        },
        options={"maxiter": 500, "ftol": 1e-9},
    )
    return float(found.fun)


def error(n: np.ndarray, p: np.ndarray, simulations: int) -> float:
    """Root mean square error of the law's value at the goals, from fits."""
    rng, missed = np.random.default_rng(0), []
    inner = WEIGHTS[1:-1]
    use = p > 0
    for _ in range(simulations):
        law = fit_approximate(draw("a", n[use], p[use], rng), "flexible", Options())
        missed.append(law.predict(Query(TARGET, inner)) - truth("a", TARGET, inner))
    return float(np.sqrt(np.mean(np.square(missed))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    count = parser.parse_args().simulations
    known, n, p = sweep()
    whole = error(n, p, count)
    print(f"of {len(n)} trials; interval of a new run, law alone, and simulated error")
    print(" interval  trials   cost  least  law alone   error")
    for ratio in RATIOS:
        found = cheapest(known, ratio)
        runs = list(found.runs)
        print(
            f"{found.interval:>8.2f}x{len(runs):>8}{found.cost_share:>7.0%}"
            f"{least_share(known, ratio):>7.0%}{found.law_interval:>10.2f}x"
            f"{error(n[runs], p[runs], count) / whole:>7.2f}x"
        )


if __name__ == "__main__":
    main()
