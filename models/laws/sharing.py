"""How much the weightings of a task share, chosen by what predicts larger models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws.approximate import fit_approximate
from models.laws.fitting import Options
from models.laws.individual import fit_individual
from models.laws.joint import EQUATION_7, fit_joint
from models.laws.law import Law
from models.laws.observations import Observations, Weighting
from models.laws.solver import Array

PERSISTENCE = "persistence"
CAPACITY = "capacity function"
# From the most parsimonious to the least: on a tie the first one is taken.
CANDIDATES = (CAPACITY, EQUATION_7, "alpha", "none")
_TIE = 1.05
_FOLDS = 5


@dataclasses.dataclass(frozen=True)
class Trial:
    """One candidate's errors on sizes it did not see.

    Attributes:
      sharing: What the weightings share.
      rmse: Root mean square error, the geometric mean over the tasks.
      coefficients: How many it fits, of all tasks.
      points: How many predictions it was judged by.
    """

    sharing: str
    rmse: float
    coefficients: int
    points: int


@dataclasses.dataclass(frozen=True)
class Backtest:
    """The candidates side by side.

    Attributes:
      scheme: What was left out, in words.
      trials: The candidates that could be judged, the baseline last.
      chosen: The sharing to use.
    """

    scheme: str
    trials: tuple[Trial, ...]
    chosen: str

    @property
    def rejects_equation_7(self) -> bool:
        """Whether weightings share less than [M] eq. 7 says."""
        return self.chosen in ("alpha", "none")

    @property
    def beaten_by_persistence(self) -> bool:
        """Whether repeating the largest size's value is as good as any law."""
        errors = {trial.sharing: trial.rmse for trial in self.trials}
        return errors.get(PERSISTENCE, math.inf) < errors[self.chosen]

    def __str__(self) -> str:
        lines = [f"back-test: {self.scheme}"]
        lines.append(f"  {'shared':<26}{'RMSE':>9}{'coefficients':>14}{'points':>8}")
        for trial in self.trials:
            mark = "  <- chosen" if trial.sharing == self.chosen else ""
            lines.append(
                f"  {trial.sharing:<26}{trial.rmse:>9.5f}{trial.coefficients:>14}"
                f"{trial.points:>8}{mark}"
            )
        return "\n".join(lines)


def choose_sharing(
    groups: Sequence[Observations], options: Options | None = None
) -> Backtest | None:
    """Judges each degree of sharing by its errors on the largest size.

    With four sizes or more the largest is left out altogether. With three, leaving
    it out would leave nothing to fit, so it is left out for a fifth of the
    weightings at a time. One task's back-test is a handful of points, so the tasks
    of a test set decide together.

    Args:
      groups: Runs of one test set, one task each.
      options: How to fit.

    Returns:
      The comparison, or None where there is too little to judge by.
    """
    options = dataclasses.replace(options or Options(), draws=0)
    usable = [group for group in groups if _folds(group)]
    if not usable:
        return None
    trials = []
    for sharing in (*CANDIDATES, PERSISTENCE):
        trial = _judge(sharing, usable, options)
        if trial is not None:
            trials.append(trial)
    laws = [trial for trial in trials if trial.sharing != PERSISTENCE]
    if not laws:
        return None
    best = min(laws, key=lambda trial: trial.rmse)
    # One standard error of a logarithmic root mean square is 1 / sqrt(2 points).
    tie = max(_TIE, math.exp((2.0 * best.points) ** -0.5))
    chosen = next(trial for trial in laws if trial.rmse <= tie * best.rmse)
    whole = any(len(np.unique(group.n)) >= 4 for group in usable)
    scheme = (
        "the largest size left out"
        if whole
        else f"the largest of 3 sizes left out, 1/{_FOLDS} of the weightings at a time"
    )
    return Backtest(scheme, tuple(trials), chosen.sharing)


def fit_shared(
    runs: Observations, sharing: str, options: Options | None = None
) -> list[Law]:
    """The laws of one task with this degree of sharing.

    Raises:
      UserError: Too little for it.
    """
    if sharing == "none":
        laws, refused = fit_individual(runs, options)
        if refused:
            raise UserError(refused[0])
        return laws
    if sharing == CAPACITY:
        return [fit_approximate(runs, "auto", options)]
    return [fit_joint(runs, options, sharing)]


def predictor(laws: Sequence[Law]) -> Callable[[Observations], Array]:
    """Predicts rows by whichever of the laws was fitted on their weighting."""

    def predict(rows: Observations) -> Array:
        weightings, index = rows.weightings()
        values = np.full(len(rows), np.nan)
        for k, weighting in enumerate(weightings):
            law = next(law for law in laws if _covers(law, weighting))
            values[index == k] = law.predict(rows.n[index == k], weighting)
        return values

    return predict


def _covers(law: Law, weighting: Weighting) -> bool:
    known = any(weighting.same(one) for one in law.weightings)
    return law.kind == "approximate" or known


def _folds(runs: Observations) -> list[NDArray[np.bool_]]:
    """Rows to leave out, a mask each; none where that would leave too little."""
    sizes = np.unique(runs.n)
    weightings, index = runs.weightings()
    largest = runs.n == sizes[-1]
    if len(sizes) >= 4:
        seen = np.unique(index[~largest])
        fold = largest & np.isin(index, seen)
        return [fold] if fold.any() else []
    if len(sizes) < 3 or len(weightings) < 2:
        return []
    smaller = np.isin(index, np.unique(index[~largest]))
    folds = [
        largest & smaller & (index % _FOLDS == k)
        for k in range(min(_FOLDS, len(weightings)))
    ]
    return [fold for fold in folds if fold.any()]


def _judge(
    sharing: str, groups: Sequence[Observations], options: Options
) -> Trial | None:
    """A candidate's errors; None where some task does not allow it."""
    logs, points, coefficients = [], 0, 0
    for runs in groups:
        squares = []
        for fold in _folds(runs):
            left = ~fold if len(np.unique(runs.n)) < 4 else runs.n < runs.n.max()
            try:
                predict, count = candidate(sharing, runs.take(left), options)
                errors = predict(runs.take(fold)) - runs.value[fold]
            except (UserError, StopIteration):
                return None
            squares += (errors**2).tolist()
        logs.append(0.5 * math.log(max(float(np.mean(squares)), 1e-30)))
        points += len(squares)
        coefficients += count
    return Trial(sharing, math.exp(float(np.mean(logs))), coefficients, points)


def candidate(
    sharing: str, runs: Observations, options: Options
) -> tuple[Callable[[Observations], Array], int]:
    """What a candidate predicts, and how many coefficients it has."""
    if sharing == PERSISTENCE:
        return _persistence(runs), 0
    laws = fit_shared(runs, sharing, options)
    return predictor(laws), sum(len(law.parameters) for law in laws)


def _persistence(runs: Observations) -> Callable[[Observations], Array]:
    """Repeats each weighting's value at the largest size that was seen."""
    weightings, index = runs.weightings()
    last = []
    for k in range(len(weightings)):
        sizes = runs.n[index == k]
        last.append(runs.value[index == k][sizes == sizes.max()].mean())

    def predict(rows: Observations) -> Array:
        found, of = rows.weightings()
        values = [
            next(v for w, v in zip(weightings, last, strict=True) if w.same(one))
            for one in found
        ]
        return np.array(values)[of]

    return predict
