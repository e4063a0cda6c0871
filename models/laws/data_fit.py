"""Fits the law of size, data and mixture to whole learning curves.

Points of one run are correlated: a run as a whole lies above or below the law, so the
uncertainty counts runs, not points.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import zlib

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws.capacity import capacity
from models.laws.data_form import DataForm, DataRows
from models.laws.data_law import DataLaw, DataSpec, form_of, own_column
from models.laws.fitting import Options
from models.laws.observations import Observations
from models.laws.solver import Array, Best, best_of, minimize

_SCALE = 0.02  # of a loss, where soft_l1 turns from squares to absolute values
_POINTS = 12  # of one run's curve: more of them say the same


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The points of learning curves that a law is fitted on.

    Attributes:
      points: The points, of one task and test set.
      run: Index of each point's run, [rows].
      final: Whether it is the last of its run, [rows].
    """

    points: Observations
    run: NDArray[np.int64]
    final: NDArray[np.bool_]

    def take(self, which: NDArray[np.bool_]) -> Evidence:
        """The points that a mask selects."""
        _, run = np.unique(self.run[which], return_inverse=True)
        return Evidence(self.points.take(which), run.ravel(), self.final[which])


def evidence(curves: Observations, share: float) -> Evidence:
    """The points from a share of each run's steps on, thinned evenly.

    Args:
      curves: Curve and final rows of one task and test set, with ``tokens`` and
        ``step``.
      share: In (0, 1]; 1 takes the last point of each run alone.

    Raises:
      UserError: No row says how many tokens its run had seen.
    """
    known = np.isfinite(curves.tokens).all(1) & np.isfinite(curves.step)
    known &= curves.value > 0
    if not known.any():
        raise UserError(
            f"fit data {curves.task[0]}/{curves.test_set[0]}: no row has the tokens "
            "that its run had seen (column tokens_seen)"
        )
    curves = curves.take(known)
    _, run = np.unique(curves.trial, return_inverse=True)
    run = run.ravel()
    last = np.zeros(run.max() + 1)
    np.maximum.at(last, run, curves.step)
    final = curves.step == last[run]
    chosen = curves.step >= share * last[run] - 1e-9
    for k in range(len(last)):
        of = np.flatnonzero(chosen & (run == k))
        if len(of) > _POINTS:
            order = of[np.argsort(curves.step[of])]
            kept = order[np.linspace(0, len(order) - 1, _POINTS).round().astype(int)]
            chosen[of] = False
            chosen[kept] = True
    return Evidence(curves, run, final).take(chosen)


def fit_data(
    curves: Observations,
    spec: DataSpec | None = None,
    options: Options | None = None,
    unigram_loss: float | None = None,
    start: Array | None = None,
    quick: bool = False,
) -> DataLaw:
    """Fits the law of size, data and mixture.

    Args:
      curves: Curve and final rows of one task and test set.
      spec: Which parts the law has; `DataSpec`'s defaults when None.
      options: Draws and their seed.
      unigram_loss: Cross-entropy of the training frequencies on the test set, nats
        per token; fitted where a law with a shoulder lacks it.
      start: Where to start from, instead of several starts.
      quick: Stop as soon as a back-test can judge the form.

    Raises:
      UserError: Fewer runs than coefficients, or no amounts of data.
    """
    spec, options = spec or DataSpec(), options or Options()
    known = evidence(curves, spec.evidence)
    points = known.points
    own = own_column(str(points.task[0]), points.tasks)
    function = capacity(spec.capacity, points.tasks, own)
    reference = _reference(known, own, options)
    if spec.shoulder and unigram_loss is not None:
        reference["unigram_loss"] = unigram_loss
    rows = DataRows(
        points.n / reference["n"],
        points.p,
        points.shares,
        points.tokens / reference["tokens"],
        np.full(points.tokens.shape, np.inf),
        own,
    )
    shoulder = math.nan if unigram_loss is None else unigram_loss
    form = form_of(spec, function, rows, shoulder, float(points.value.max()))
    runs = int(known.run.max()) + 1
    where = f"fit data {points.task[0]}/{points.test_set[0]}"
    if runs <= len(form.names):
        raise UserError(
            f"{where}: {runs} runs for {len(form.names)} coefficients; train more "
            "sizes or mixtures"
        )
    y = points.value
    starts = _starts(form, y, unigram_loss) if start is None else start[None]
    if quick:
        best = _quick(form, y, starts)
    else:
        best = best_of(form, y, starts, scale=_SCALE, weights=y**-2.0)
    return _law(known, form, best, spec, reference, options, where)


def _quick(form: DataForm, y: Array, starts: Array) -> Best:
    """The best of the starts, as precisely as a back-test needs."""
    found = minimize(
        form,
        y,
        starts[::2],
        scale=_SCALE,
        weights=y**-2.0,
        max_iterations=40,
        tolerance=1e-6,
    )
    k = int(np.argmin(found.cost))
    return Best(found.theta[k], float(found.cost[k]), 0.0, len(starts), 1)


def _reference(known: Evidence, own: int, options: Options) -> dict[str, float]:
    """Reference size and data, and how many tokens a weight stands for."""
    points, final = known.points, known.final
    totals = points.tokens[final].sum(1)
    sizes = np.unique(points.n)
    reference = {
        "n": options.reference or float(np.exp(np.log(sizes).mean())),
        "tokens": float(np.exp(np.log(totals).mean())),
        "trained_tokens": float(np.median(totals)),
    }
    for k, task in enumerate(points.tasks):
        trained = final & (points.shares[:, k] > 0)
        if trained.any():
            drawn = points.shares[trained, k] * points.tokens[trained].sum(1)
            rate = np.median(points.tokens[trained, k] / drawn)
            reference[f"rate[{task}]"] = float(rate)
    return reference


def _starts(form: DataForm, y: Array, unigram_loss: float | None) -> Array:
    """Starting points over irreducible losses and exponents, [starts, parameters]."""
    shapes = form.capacity.starts() if form.capacity else np.zeros((1, 0))
    names = form.capacity.names if form.capacity else ()
    found = []
    choices = itertools.product((0.7, 0.94), (0.3, 0.8), (0.3, 0.9))
    for k, (floor, alpha, alpha_data) in enumerate(choices):
        reducible = float(np.median(y)) - floor * float(y.min())
        top = unigram_loss or 1.3 * float(y.max())
        if form.shoulder is not None:
            reducible /= max(top - float(np.median(y)), 1e-3)
        values = {
            "irreducible_loss": floor * float(y.min()),
            "beta": reducible / 2,
            "beta_data": reducible / 2,
            "alpha": alpha,
            "alpha_data": alpha_data,
            "sharpness": 0.6,
            "unigram_loss": top,
            "repeats": 5.0,
            **dict(zip(names, shapes[k % len(shapes)], strict=True)),
        }
        found.append([values.get(name, 0.2) for name in form.names])
    return np.array(found)


def _law(
    known: Evidence,
    form: DataForm,
    best: Best,
    spec: DataSpec,
    reference: dict[str, float],
    options: Options,
    where: str,
) -> DataLaw:
    points, theta = known.points, best.theta
    values, jacobian = (part[0] for part in form.evaluate(theta[None]))
    spread = _spread(known, form, theta, values, jacobian)
    residuals = (points.value - values)[known.final]
    final = points.value[known.final]
    total = float(((final - final.mean()) ** 2).sum())
    noise = math.hypot(spread.run_sd, spread.point_sd)
    rng = np.random.default_rng([options.seed, zlib.crc32(where.encode())])
    draws = _draws(form.names, theta, spread, options.draws, rng)
    assert form.capacity is not None
    return DataLaw(
        task=str(points.task[0]),
        test_set=str(points.test_set[0]),
        metric=points.metric,
        parameters=dict(zip(form.names, theta.tolist(), strict=True)),
        covariance=spread.covariance,
        residual_sd=noise * float(np.median(final)),
        reference=reference,
        tasks=points.tasks,
        weightings=points.weightings[0],
        statistics={
            "r2": 1.0 - float((residuals**2).sum()) / total if total > 0 else None,
            "rmse": math.sqrt(float((residuals**2).mean())),
            "max_abs_error": float(np.abs(residuals).max()),
            "n_points": float(len(points)),
            "dof": spread.dof,
            "aicc": None,
        },
        fitted_range={
            "n": (float(points.n.min()), float(points.n.max())),
            "p": (float(points.p.min()), float(points.p.max())),
            "tokens": (
                float(points.tokens.sum(1).min()),
                float(points.tokens.sum(1).max()),
            ),
        },
        warnings=_warnings(form, best, spread),
        draws=np.clip(draws, form.lower, form.upper),
        spec=spec,
        capacity=form.capacity,
        run_sd=spread.run_sd,
        point_sd=spread.point_sd,
    )


@dataclasses.dataclass(frozen=True)
class _Spread:
    covariance: Array
    run_sd: float
    point_sd: float
    dof: float


def _spread(
    known: Evidence, form: DataForm, theta: Array, values: Array, jacobian: Array
) -> _Spread:
    """Covariance with a random effect for each run, in relative units.

    ``(J'J)^-1 J'VJ (J'J)^-1`` with V of a common part of each run and an own part of
    each point, whose variances are those within and between runs.
    """
    y, run = known.points.value, known.run
    scaled = jacobian / y[:, None]
    errors = (y - values) / y
    runs, counts = int(run.max()) + 1, np.bincount(run)
    means = np.bincount(run, errors) / counts
    within = float(((errors - means[run]) ** 2).sum()) / max(len(y) - runs, 1)
    dof = float(runs - len(theta))
    between = float((counts * means**2).sum()) / max(dof, 1.0)
    common = max(between - within, 0.0) / float(counts.mean())
    inside = (theta > form.lower) & (theta < form.upper)
    free = scaled[:, inside]
    gram = free.T @ free
    sums = np.zeros((runs, free.shape[1]))
    np.add.at(sums, run, free)
    inverse = np.linalg.pinv(gram, hermitian=True)
    middle = within * gram + common * sums.T @ sums
    covariance = np.zeros((len(theta), len(theta)))
    covariance[np.ix_(inside, inside)] = inverse @ middle @ inverse
    return _Spread(covariance, math.sqrt(common), math.sqrt(within), dof)


def _draws(
    names: tuple[str, ...],
    theta: Array,
    spread: _Spread,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Parameters from a multivariate t distribution, [draws, parameters].

    Exponents and coefficients of powers scatter on a log scale, where they are nearly
    linear in each other.
    """
    if not count or spread.dof <= 0:
        return np.empty((0, len(theta)))
    powers = np.isin(names, ("alpha", "beta", "alpha_data", "beta_data"))
    unit = np.where(powers, theta, 1.0)
    values, vectors = np.linalg.eigh(spread.covariance / np.outer(unit, unit))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = rng.standard_normal((count, len(theta))) @ root.T
    moved = normal * np.sqrt(spread.dof / rng.chisquare(spread.dof, count))[:, None]
    return np.where(powers, theta * np.exp(np.clip(moved, -9.0, 9.0)), theta + moved)


def _warnings(form: DataForm, best: Best, spread: _Spread) -> tuple[str, ...]:
    found = []
    for k, name in enumerate(form.names):
        low, high, value = form.lower[k], form.upper[k], best.theta[k]
        if not low < value < high:
            side = "lower" if value <= low else "upper"
            found.append(f"{name} stopped at its {side} bound {value:g}")
    if spread.dof < 3:
        found.append(f"{spread.dof:g} degrees of freedom: the intervals are wide")
    if not best.certified:
        found.append(
            f"the fit is not certified: {best.agreeing} of {best.starts} starts agree, "
            f"gradient cosine {best.cosine:.1e}"
        )
    return tuple(found)
