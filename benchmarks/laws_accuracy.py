"""Predictions of larger models and of unseen mixtures, on known and on real tables.

    python benchmarks/laws_accuracy.py [--data ../shared/lawdata]

Real tables are not part of the project; without them only the simulated one runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from components.fit.config import Config
from components.fit.runs import as_observations, sort_rows
from components.fit.table import read
from models.errors import UserError
from models.laws import (
    Observations,
    Options,
    Query,
    fit_approximate,
    fit_individual,
    fit_joint,
    observations,
)
from models.laws.backtest import PERSISTENCE, backtest, candidate

SIZES = np.geomspace(1.6e7, 1.04e8, 7)
WEIGHTS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])


def rms(errors: list[float] | np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def known_truth(tables: int = 200) -> None:
    """Equation 7 is true: joint against separate fits at 1e9."""
    rng = np.random.default_rng(0)
    n, p = (part.ravel() for part in np.meshgrid(SIZES, WEIGHTS))

    def truth(n, p):
        f = p + 0.3 * p**0.8 * (1 - p) ** 1.2
        return 1.2 + 0.45 * (f * n / 1e8) ** -0.3

    joint, separate, unseen = [], [], []
    for _ in range(tables):
        value = truth(n, p) + 0.003 * rng.standard_normal(len(n))
        runs = observations(task=["a"] * len(n), n=n, p=p, value=value)
        law = fit_joint(runs)
        joint += (law.predict(Query(1e9, WEIGHTS)) - truth(1e9, WEIGHTS)).tolist()
        for one in fit_individual(runs)[0]:
            w = one.weightings[0].p
            separate.append(float(one.predict(Query(1e9, w))) - truth(1e9, w))
        approximate = fit_approximate(runs, "flexible")
        inside = SIZES[-1]
        unseen.append(
            float(approximate.predict(Query(inside, 0.2))) - truth(inside, 0.2)
        )
    print("equation 7 true, 8 weightings x 7 sizes up to 1.04e8, noise .003")
    print(f"  RMSE at 1e9: joint {rms(joint):.4f} (bar .0040), ", end="")
    print(f"separate {rms(separate):.4f}")
    print(f"  unseen p = .2 at 1.04e8: {rms(unseen):.4f} (bar .003)")


def load(path: Path, **options) -> Observations:
    config = Config(single_size=True, **options)
    return sort_rows(read(path), config, path.name).fitted


def everything(path: Path) -> Observations:
    """All rows, zero-shot ones too: their curves are curves of a mixture."""
    lines = [line for line in read(path) if line["loss"] is not None]
    return as_observations(lines, "loss", ())


def held_out_size(name: str, runs: Observations, bar: str) -> None:
    """Fits the smaller sizes and predicts the largest, with every kind of law."""
    largest = runs.n == runs.n.max()
    groups = [group for _, _, group in runs.take(~largest).by_task()]
    judged = backtest(groups)
    print(f"{name}: largest size held out, RMSE over all rows ({bar})")
    for kind in ("individual", "shared", "joint", PERSISTENCE):
        errors: list[float] = []
        for group in groups:
            rows = runs.take(largest & (runs.task == group.task[0]))
            rows = rows.take(_seen(rows, group))
            try:
                predict, _ = candidate(kind, group, Options())
            except UserError as error:
                print(f"  {kind:<14} refused: {error}")
                break
            errors += (predict(rows)[0] - rows.value).tolist()
        else:
            chosen = judged is not None and kind == judged.chosen
            mark = "  <- chosen" if chosen else ""
            print(f"  {kind:<14}{rms(errors):>9.4f}{mark}")


def _seen(rows: Observations, group: Observations) -> np.ndarray:
    """Rows whose weighting also has smaller sizes."""
    known, _ = group.weightings
    weightings, index = rows.weightings
    kept = [any(one.same(w) for w in known) for one in weightings]
    return np.array(kept)[index]


def leave_one_out(name: str, runs: Observations, bar: str) -> None:
    """Every mixture predicted by a law fitted on the others."""
    print(f"{name}: leave one mixture out ({bar})")
    options = Options(single_size=True)
    for form in ("flexible", "auto"):
        errors = {}
        for task, _, group in runs.by_task():
            missed = []
            for k in range(len(group)):
                law = fit_approximate(
                    group.take(np.arange(len(group)) != k), form, options
                )
                mixture = dict(zip(group.tasks, group.shares[k].tolist(), strict=True))
                missed.append(
                    float(law.predict(Query(group.n[k], mixture))) - group.value[k]
                )
            errors[task] = rms(missed)
        shown = ", ".join(f"{task} {error:.4f}" for task, error in errors.items())
        print(f"  {form:<10} mean {np.mean(list(errors.values())):.4f}   {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/lawdata"))
    data = parser.parse_args().data
    known_truth()
    if not data.is_dir():
        print(f"no {data}: the real tables are left out")
        return
    domains = everything(data / "language_domains_5.csv")
    held_out_size("language_domains_5", domains, "bar .0235, one fit a weighting .0271")
    sizes = load(data / "translation_sizes.csv", by=("data_percent",))
    held_out_size("translation_sizes", sizes, "bar: 1.1x the best of the others")
    leave_one_out(
        "translation_3_tasks", load(data / "translation_3_tasks.csv"), "bar .030"
    )


if __name__ == "__main__":
    main()
