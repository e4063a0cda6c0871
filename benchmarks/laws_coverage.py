"""Coverage of nominal 95 % intervals, by simulation.

    python benchmarks/laws_coverage.py [--simulations 1000]

Seed noise .003, truth 1.2 + .45 (1e8 / N)**.3 for the univariate law; for the joint
and approximate laws the same curve with f(p) = p + .3 p**.8 (1 - p)**1.2, and a
second task for the recommended weight. Sizes are the paper's first 5, 6 and 8;
everything is predicted at 1e9.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np

from models.laws import (
    Law,
    Observations,
    fit_approximate,
    fit_joint,
    fit_univariate,
    observations,
    recommend,
)

SIZES = np.array([18.9, 63.7, 127.4, 191.1, 339.8, 453.0, 707.9, 1019.3]) * 1e6
WEIGHTS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
TASKS = {"a": (0.30, 0.45, 1.2), "b": (0.25, 0.60, 1.5)}
NOISE, TARGET, PREFERENCE = 0.003, 1e9, {"a": 0.6, "b": 0.4}


def fraction(p: np.ndarray) -> np.ndarray:
    return p + 0.3 * p**0.8 * (1 - p) ** 1.2


def truth(task: str, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    alpha, beta, floor = TASKS[task]
    return beta * (fraction(p) * n / 1e8) ** -alpha + floor


def best_weight() -> float:
    """The true optimum by brute force."""
    p = np.linspace(0.001, 0.999, 99801)
    first = PREFERENCE["a"] * truth("a", TARGET, p)
    return float(p[np.argmin(first + PREFERENCE["b"] * truth("b", TARGET, 1 - p))])


def draw(task: str, n: np.ndarray, p: np.ndarray, rng) -> Observations:
    value = truth(task, n, p) + NOISE * rng.standard_normal(len(n))
    mixture = [{t: q if t == task else 1 - q for t in TASKS} for q in p]
    return observations(task=[task] * len(n), n=n, p=p, value=value, mixture=mixture)


class Tally:
    """How often each interval held its truth, and how wide it was."""

    def __init__(self) -> None:
        self.held: dict[str, list[bool]] = {}
        self.width: dict[str, list[float]] = {}

    def add(self, name: str, low: float, high: float, value: float) -> None:
        self.held.setdefault(name, []).append(bool(low <= value <= high))
        self.width.setdefault(name, []).append(float(high - low))

    def shown(self) -> Mapping[str, tuple[float, float]]:
        return {
            name: (100 * float(np.mean(held)), float(np.median(self.width[name])))
            for name, held in self.held.items()
        }


def simulate(count: int, simulations: int) -> Tally:
    """All intervals at this number of sizes."""
    rng, tally, optimum = np.random.default_rng(count), Tally(), best_weight()
    n, p = (part.ravel() for part in np.meshgrid(SIZES[:count], WEIGHTS))
    for _ in range(simulations):
        single = fit_univariate(draw("a", SIZES[:count], np.ones(count), rng))
        _prediction(tally, "univariate", single, 1.0, rng)
        table = draw("a", n, p, rng)
        joint = fit_joint(table)
        _prediction(tally, "joint, p = .05", joint, 0.05, rng)
        _fraction(tally, "joint f(.05)", joint)
        first = fit_approximate(table, "flexible")
        _prediction(tally, "approximate, p = .2", first, 0.2, rng)
        _fraction(tally, "approximate f(.05)", first)
        second = fit_approximate(draw("b", n, p, rng), "flexible")
        found = recommend([first, second], TARGET, PREFERENCE)
        tally.add("recommended weight", *found.weight_intervals["a"], optimum)
    return tally


def _prediction(tally: Tally, name: str, law: Law, p: float, rng) -> None:
    true = float(truth("a", TARGET, np.array(p)))
    low, high = law.interval(TARGET, p, measured=False)
    tally.add(f"{name}: law", float(low), float(high), true)
    low, high = law.interval(TARGET, p)
    measured = true + NOISE * rng.standard_normal()
    tally.add(f"{name}: new run", float(low), float(high), measured)


def _fraction(tally: Tally, name: str, law: Law) -> None:
    _, low, high = law.effective_fraction(0.05)
    tally.add(name, float(low), float(high), float(fraction(np.array(0.05))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    arguments = parser.parse_args()
    columns = {k: simulate(k, arguments.simulations).shown() for k in (5, 6, 8)}
    print("covered (%) and median width of nominal 95 % intervals; bar: 93-97 %")
    print(f"{'':<32}" + "".join(f"{k:>9} sizes       " for k in columns))
    for name in columns[5]:
        cells = [
            f"{columns[k][name][0]:>8.1f} {columns[k][name][1]:>10.5f}  "
            for k in columns
        ]
        print(f"{name:<32}" + "".join(cells))
    print(
        "Intervals are the delta method's with Student's t, so their width is 1.00x "
        "of it; weights: sigma points, no formula to compare with."
    )


if __name__ == "__main__":
    main()
