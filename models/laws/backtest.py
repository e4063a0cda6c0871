"""Which law to believe: the kinds side by side on sizes that they have not seen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws.approximate import ApproximateLaw, fit_approximate
from models.laws.data_choice import choose_spec
from models.laws.data_fit import fit_data
from models.laws.data_law import DataLaw, predict_rows
from models.laws.fitting import Options
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.power import (
    IndividualLaw,
    JointLaw,
    SharedLaw,
    fit_individual,
    fit_joint,
)
from models.laws.query import Query
from models.laws.solver import Array
from models.laws.uncertainty import Misfit

PERSISTENCE = "persistence"
# From the most parsimonious to the least: on a tie the first one is taken.
KINDS = (
    ApproximateLaw.kind,
    DataLaw.kind,
    JointLaw.kind,
    SharedLaw.kind,
    IndividualLaw.kind,
)
# What the weightings have in common in each of them.
SHARING = {
    ApproximateLaw.kind: "capacity function",
    DataLaw.kind: "capacity function, data",
    JointLaw.kind: "exponent, irreducible loss",
    SharedLaw.kind: "exponent",
    IndividualLaw.kind: "nothing",
    PERSISTENCE: "(repeats the last size)",
}
_TIE = 1.05
_FOLDS = 5


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One kind of law's errors on sizes it did not see.

    Attributes:
      law: The kind, or ``persistence``.
      rmse: Root mean square error, the geometric mean over the tasks.
      coefficients: How many it fits, of all tasks.
      points: How many predictions it was judged by.
      misfit: Standard deviation of the errors that its own intervals do not explain.
    """

    law: str
    rmse: float
    coefficients: int
    points: int
    misfit: float = 0.0


@dataclasses.dataclass(frozen=True)
class Backtest:
    """The candidates side by side.

    Attributes:
      scheme: What was left out, in words.
      candidates: Those that could be judged, the baseline last.
      chosen: The kind of law to use.
      step: Logarithm of the left-out size over the next smaller one.
    """

    scheme: str
    candidates: tuple[Candidate, ...]
    chosen: str
    step: float = 1.0

    def misfit(self, kind: str) -> Misfit:
        """How wrong a kind of law is on larger sizes than it has seen."""
        for one in self.candidates:
            if one.law == kind:
                return Misfit(one.misfit, self.step, one.points)
        return Misfit()

    @property
    def errors(self) -> dict[str, float]:
        """Kind -> root mean square error."""
        return {one.law: one.rmse for one in self.candidates}

    @property
    def rejects_equation_7(self) -> bool:
        """Whether weightings share less than Fernandes et al. 2023, eq. 7, says."""
        return self.chosen in (SharedLaw.kind, IndividualLaw.kind)

    @property
    def beaten_by_persistence(self) -> bool:
        """Whether repeating the largest size's value is as good as any law."""
        errors = self.errors
        return errors.get(PERSISTENCE, math.inf) < errors[self.chosen]

    def __str__(self) -> str:
        lines = [f"back-test: {self.scheme}"]
        lines.append(
            f"  {'law':<13}{'what weightings share':<29}{'RMSE':>9}"
            f"{'coefficients':>14}{'points':>8}"
        )
        for one in self.candidates:
            mark = "  <- chosen" if one.law == self.chosen else ""
            lines.append(
                f"  {one.law:<13}{SHARING[one.law]:<29}{one.rmse:>9.5f}"
                f"{one.coefficients:>14}{one.points:>8}{mark}"
            )
        return "\n".join(lines)


def backtest(
    groups: Sequence[Observations],
    options: Options | None = None,
    curves: Sequence[Observations] | None = None,
) -> Backtest | None:
    """Judges each kind of law by its errors on the largest size.

    With four sizes or more the largest is left out altogether. With three, leaving
    it out would leave nothing to fit, so it is left out for a fifth of the
    weightings at a time. One task's back-test is a handful of points, so the tasks
    of a test set decide together.

    Args:
      groups: Runs of one test set, one task each.
      options: How to fit.
      curves: Learning curves of the same runs, for each group, where there are any:
        the law of size, data and mixture is judged, too.

    Returns:
      The comparison, or None where there is too little to judge by.
    """
    options = dataclasses.replace(options or Options(), draws=0)
    usable = [group for group in groups if _folds(group)]
    if not usable:
        return None
    kinds = [kind for kind in (*KINDS, PERSISTENCE) if kind != DataLaw.kind]
    judged = [_judge(kind, usable, options) for kind in kinds]
    if curves is not None and len(usable) == len(groups):
        judged.insert(1, _judge_data(groups, curves))
    candidates = tuple(one for one in judged if one is not None)
    laws = [one for one in candidates if one.law != PERSISTENCE]
    if not laws:
        return None
    best = min(laws, key=lambda one: one.rmse)
    # One standard error of a logarithmic root mean square is 1 / sqrt(2 points).
    tie = max(_TIE, math.exp((2.0 * best.points) ** -0.5))
    chosen = next(one for one in laws if one.rmse <= tie * best.rmse)
    whole = any(len(np.unique(group.n)) >= 4 for group in usable)
    scheme = (
        "the largest size left out"
        if whole
        else f"the largest of 3 sizes left out, 1/{_FOLDS} of the weightings at a time"
    )
    return Backtest(scheme, candidates, chosen.law, _step(usable))


def _step(groups: Sequence[Observations]) -> float:
    """Mean logarithm of the largest size over the next smaller one."""
    sizes = [np.unique(group.n) for group in groups]
    return float(np.mean([math.log(own[-1] / own[-2]) for own in sizes]))


def fit_kind(
    runs: Observations, kind: str, options: Options | None = None
) -> list[Law]:
    """The laws of one task of this kind, which cover all of its weightings.

    Raises:
      UserError: Too little for it.
    """
    if kind == IndividualLaw.kind:
        laws, refused = fit_individual(runs, options)
        if refused:
            raise UserError(refused[0])
        return list(laws)
    if kind == ApproximateLaw.kind:
        return [fit_approximate(group, "auto", options) for group in runs.by_group()]
    return [fit_joint(runs, options, JointLaw if kind == JointLaw.kind else SharedLaw)]


Predictor = Callable[[Observations], tuple[Array, Array]]


def predictor(laws: Sequence[Law]) -> Predictor:
    """Predicts rows by whichever of the laws covers their weighting.

    Returns:
      A function of rows: predicted values, and the variance of a measured value
      around them, both [rows].
    """

    def predict(rows: Observations) -> tuple[Array, Array]:
        weightings, index = rows.weightings
        values, variances = np.full((2, len(rows)), np.nan)
        for k, weighting in enumerate(weightings):
            law = next(law for law in laws if law.covers(weighting))
            query = Query(rows.n[index == k], weighting)
            values[index == k] = law.predict(query)
            variances[index == k] = law.variance(query)
        return values, variances

    return predict


def _folds(runs: Observations) -> list[NDArray[np.bool_]]:
    """Rows to leave out, a mask each; none where that would leave too little."""
    sizes = np.unique(runs.n)
    weightings, index = runs.weightings
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
    kind: str, groups: Sequence[Observations], options: Options
) -> Candidate | None:
    """A candidate's errors; None where some task does not allow it."""
    logs, errors, variances, coefficients = [], [], [], 0
    for runs in groups:
        own: list[float] = []
        for fold in _folds(runs):
            left = ~fold if len(np.unique(runs.n)) < 4 else runs.n < runs.n.max()
            try:
                predict, count = candidate(kind, runs.take(left), options)
                values, spread = predict(runs.take(fold))
            except (UserError, StopIteration):
                return None
            own += (values - runs.value[fold]).tolist()
            variances += np.nan_to_num(spread).tolist()
            coefficients += count
        logs.append(0.5 * math.log(max(float(np.mean(np.square(own))), 1e-30)))
        errors += own
    misfit = _unexplained(np.array(errors), np.array(variances))
    if any(len(np.unique(runs.n)) < 4 for runs in groups):
        # The largest size of the other weightings was part of the fit.
        misfit *= math.sqrt(_FOLDS / (_FOLDS - 1))
    return Candidate(
        law=kind,
        rmse=math.exp(float(np.mean(logs))),
        coefficients=coefficients,
        points=len(errors),
        misfit=misfit,
    )


def _unexplained(errors: Array, variances: Array) -> float:
    """Standard deviation of errors beyond what their variances explain.

    Half a standard error of the explained part is left to chance, so that a law that
    is right is rarely thought wrong.
    """
    explained = float(variances.mean()) * (1.0 + 0.5 * math.sqrt(2.0 / len(errors)))
    return math.sqrt(max(float(np.mean(errors**2)) - explained, 0.0))


def _judge_data(
    groups: Sequence[Observations], curves: Sequence[Observations]
) -> Candidate | None:
    """The errors of the law of size, data and mixture; None where it has no chance.

    Its parts are chosen on the smaller sizes, too.
    """
    smaller = [part.take(part.n < part.n.max()) for part in curves]
    spec = choose_spec(smaller)
    if spec is None:
        return None
    logs, errors, variances, coefficients = [], [], [], 0
    for runs, part in zip(groups, smaller, strict=True):
        left_out = runs.take(np.any(_folds(runs), axis=0))
        known = np.isfinite(left_out.tokens).all(1)
        try:
            law = fit_data(part, spec)
        except UserError:
            return None
        if not known.all() or not part.n.max() < left_out.n.min():
            return None
        own = predict_rows(law, left_out) - left_out.value
        logs.append(0.5 * math.log(max(float(np.mean(own**2)), 1e-30)))
        errors += own.tolist()
        variances += [law.residual_sd**2] * len(own)
        coefficients += len(law.parameters)
    return Candidate(
        law=DataLaw.kind,
        rmse=math.exp(float(np.mean(logs))),
        coefficients=coefficients,
        points=len(errors),
        misfit=_unexplained(np.array(errors), np.array(variances)),
    )


def candidate(kind: str, runs: Observations, options: Options) -> tuple[Predictor, int]:
    """What a candidate predicts, and how many coefficients it has."""
    if kind == PERSISTENCE:
        return _persistence(runs), 0
    laws = fit_kind(runs, kind, options)
    return predictor(laws), sum(len(law.parameters) for law in laws)


def _persistence(runs: Observations) -> Predictor:
    """Repeats each weighting's value at the largest size that was seen."""
    weightings, index = runs.weightings
    last = []
    for k in range(len(weightings)):
        sizes = runs.n[index == k]
        last.append(runs.value[index == k][sizes == sizes.max()].mean())

    def predict(rows: Observations) -> tuple[Array, Array]:
        found, of = rows.weightings
        values = [
            next(v for w, v in zip(weightings, last, strict=True) if w.same(one))
            for one in found
        ]
        return np.array(values)[of], np.zeros(len(rows))

    return predict
