"""Coverage of nominal 95 % intervals, by simulation.

    python benchmarks/laws_coverage.py [--simulations 1000]

Every width is compared with that of the textbook: least squares by SciPy, its Jacobian,
the residuals' variance, central differences of the quantity, and Student's t.

Seed noise .003, truth 1.2 + .45 (1e8 / N)**.3 for the univariate law; for the joint
and approximate laws the same curve with f(p) = p + .3 p**.8 (1 - p)**1.2, and a
second task for the recommended weight. Sizes are the paper's first 5, 6 and 8;
everything is predicted at 1e9.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from models.laws import (
    Law,
    Observations,
    Query,
    fit_approximate,
    fit_joint,
    fit_univariate,
    observations,
    recommend,
)
from models.laws.objectives import Problem

SIZES = np.array([18.9, 63.7, 127.4, 191.1, 339.8, 453.0, 707.9, 1019.3]) * 1e6
WEIGHTS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
TASKS = {"a": (0.30, 0.45, 1.2), "b": (0.25, 0.60, 1.5)}
NOISE, TARGET, PREFERENCE = 0.003, 1e9, {"a": 0.6, "b": 0.4}
EVERY = 5  # so many simulations for each that is compared with the textbook


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


@dataclasses.dataclass(frozen=True)
class Textbook:
    """A law refitted by SciPy: estimates, their covariance, residual variance, dof."""

    law: Law
    theta: np.ndarray
    covariance: np.ndarray
    variance: float
    dof: int

    def slope(self, quantity: Callable[[Law], float]) -> np.ndarray:
        """Central differences of a quantity of the law."""
        steps = 1e-3 * np.sqrt(np.diag(self.covariance))
        rows = np.diag(steps)
        ends = [
            [quantity(with_theta(self.law, self.theta + side * row)) for row in rows]
            for side in (1.0, -1.0)
        ]
        return (np.array(ends[0]) - np.array(ends[1])) / (2 * steps)

    def width(self, quantity: Callable[[Law], float], measured: bool = False) -> float:
        """Width of the 95 % interval."""
        slope = self.slope(quantity)
        variance = slope @ self.covariance @ slope + measured * self.variance
        return 2.0 * float(student.ppf(0.975, self.dof) * np.sqrt(variance))


def textbook(law: Law, runs: Observations) -> Textbook:
    def residuals(theta: np.ndarray) -> np.ndarray:
        return with_theta(law, theta).predict(Query(runs.n, runs.p)) - runs.value

    found = least_squares(residuals, law.theta, method="lm", x_scale="jac")
    dof = len(runs) - len(law.theta)
    variance = 2.0 * float(found.cost) / dof
    covariance = variance * np.linalg.inv(found.jac.T @ found.jac)
    return Textbook(law, found.x, covariance, variance, dof)


def with_theta(law: Law, theta: np.ndarray) -> Law:
    parameters = dict(zip(law.parameters, theta.tolist(), strict=True))
    return dataclasses.replace(law, parameters=parameters)


class Tally:
    """How often each interval held its truth, and how wide it was."""

    def __init__(self) -> None:
        self.held: dict[str, list[bool]] = {}
        self.width: dict[str, list[float]] = {}
        self.ratio: dict[str, list[float]] = {}

    def add(
        self, name: str, low: float, high: float, value: float, expected: float | None
    ) -> None:
        self.held.setdefault(name, []).append(bool(low <= value <= high))
        self.width.setdefault(name, []).append(float(high - low))
        if expected is not None:
            self.ratio.setdefault(name, []).append(float(high - low) / expected)

    def shown(self) -> Mapping[str, tuple[float, float, float]]:
        return {
            name: (
                100 * float(np.mean(held)),
                float(np.median(self.width[name])),
                float(np.median(self.ratio[name])),
            )
            for name, held in self.held.items()
        }


def simulate(count: int, simulations: int) -> Tally:
    """All intervals at this number of sizes."""
    rng, tally, optimum = np.random.default_rng(count), Tally(), best_weight()
    n, p = (part.ravel() for part in np.meshgrid(SIZES[:count], WEIGHTS))
    for k in range(simulations):
        compared = k % EVERY == 0
        table = draw("a", SIZES[:count], np.ones(count), rng)
        single = fit_univariate(table)
        known = textbook(single, table) if compared else None
        _prediction(tally, "univariate", single, 1.0, rng, known)
        table = draw("a", n, p, rng)
        joint = fit_joint(table)
        known = textbook(joint, table) if compared else None
        _prediction(tally, "joint, p = .05", joint, 0.05, rng, known)
        _fraction(tally, "joint f(.05)", joint, known)
        first = fit_approximate(table, "flexible")
        known = textbook(first, table) if compared else None
        _prediction(tally, "approximate, p = .2", first, 0.2, rng, known)
        _fraction(tally, "approximate f(.05)", first, known)
        other = draw("b", n, p, rng)
        second = fit_approximate(other, "flexible")
        found = recommend([first, second], TARGET, PREFERENCE)
        width = weight_width(known, textbook(second, other)) if compared else None
        ends = found.weight_intervals["a"]
        tally.add("recommended weight", *ends, optimum, width)
    return tally


def weight_width(first: Textbook, second: Textbook) -> float:
    """Width of the weight's interval: implicit function, Welch and Satterthwaite."""
    parts = []
    for own, slot in ((first, 0), (second, 1)):

        def weight(law: Law, slot: int = slot) -> float:
            laws = (law, second.law) if slot == 0 else (first.law, law)
            wanted = np.array(list(PREFERENCE.values()))
            free = np.full(2, np.inf)
            ones = np.ones(2)
            problem = Problem(laws, TARGET, ("a", "b"), wanted, "weighted", free, ones)
            return float(problem.solve()[0])

        slope = own.slope(weight)
        parts.append(float(slope @ own.covariance @ slope))
    dof = sum(parts) ** 2 / (parts[0] ** 2 / first.dof + parts[1] ** 2 / second.dof)
    return 2.0 * float(student.ppf(0.975, dof)) * sum(parts) ** 0.5


def _prediction(
    tally: Tally, name: str, law: Law, p: float, rng, known: Textbook | None
) -> None:
    true = float(truth("a", TARGET, np.array(p)))
    measured = true + NOISE * rng.standard_normal()
    for label, new, value in (("law", False, true), ("new run", True, measured)):
        low, high = law.interval(Query(TARGET, p), measured=new)
        width = known and known.width(
            lambda one: float(one.predict(Query(TARGET, p))), new
        )
        tally.add(f"{name}: {label}", float(low), float(high), value, width)


def _fraction(tally: Tally, name: str, law: Law, known: Textbook | None) -> None:
    _, low, high = law.effective_fraction(0.05)
    width = known and known.width(lambda one: float(one.effective_fraction(0.05)[0]))
    value = float(fraction(np.array(0.05)))
    tally.add(name, float(low), float(high), value, width)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    arguments = parser.parse_args()
    columns = {k: simulate(k, arguments.simulations).shown() for k in (5, 6, 8)}
    print(
        "covered (%), median width, and width over the delta method's with Student's "
        "t, of nominal 95 % intervals; bars: 93-97 %, 1.05"
    )
    print(f"{'':<26}" + "".join(f"{k:>12} sizes        " for k in columns))
    for name in columns[5]:
        cells = [
            f"{covered:>9.1f} {width:>8.5f} {ratio:>6.3f} "
            for covered, width, ratio in (columns[k][name] for k in columns)
        ]
        print(f"{name:<26}" + "".join(cells))


if __name__ == "__main__":
    main()
