"""Which parts the law of size, data and mixture has: what predicts best decides."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws.data_fit import Evidence, evidence, fit_data
from models.laws.data_form import Join
from models.laws.data_law import DataSpec, predict_rows
from models.laws.observations import Observations

_JUDGED: tuple[Join, ...] = ("interplay", "additive", "free")
_MIXTURES = 4  # of the smallest weights; the first is never left out


def choose_spec(
    groups: Sequence[Observations], unigram_losses: Sequence[float | None] | None = None
) -> DataSpec | None:
    """The parts that predict best what is left out, for all tasks of a test set.

    First how size and data join, then which capacity function and whether tokens of
    other tasks count. Left out are the largest size, and one after the other the
    mixtures between the others; what counts is the relative error of the last point
    of each run, the geometric mean over both questions and all tasks. Of forms that
    differ by less than 5 % the one with fewer coefficients is taken.

    Args:
      groups: Curve and final rows, one task each.
      unigram_losses: As in `fit_data`, one a group.

    Returns:
      The parts; None where no form could be fitted and judged.
    """
    levels = list(unigram_losses or [None] * len(groups))
    best: DataSpec | None = None
    for changes in (
        [{"join": j, "shoulder": s} for s in (False, True) for j in _JUDGED],
        [{}, {"capacity": "linear"}, {"transfer": "shared"}],
    ):
        base = best or DataSpec()
        specs = [dataclasses.replace(base, **change) for change in changes]
        judged = [(_left_out_error(spec, groups, levels), spec) for spec in specs]
        possible = [(error, spec) for error, spec in judged if error is not None]
        if not possible:
            return best
        least = min(error for error, _ in possible)
        good = [spec for error, spec in possible if error <= 1.05 * least]
        best = min(good, key=_size)
    return best


def _size(spec: DataSpec) -> int:
    """Coefficients, up to a constant."""
    extra = spec.shoulder + (spec.join == "free") + (spec.transfer != "none")
    return extra + 2 * (spec.capacity == "flexible")


def _left_out_error(
    spec: DataSpec, groups: Sequence[Observations], levels: Sequence[float | None]
) -> float | None:
    """Relative error on what was left out; None where it cannot be judged."""
    logs: list[float] = []
    for curves, level in zip(groups, levels, strict=True):
        try:
            law = fit_data(curves, spec, unigram_loss=level, quick=True)
            known = evidence(curves, spec.evidence)
            for folds in _folds(known):
                squares: list[float] = []
                for fold in folds:
                    kept = ~np.isin(curves.trial, known.points.trial[fold])
                    again = fit_data(
                        curves.take(kept),
                        spec,
                        unigram_loss=level,
                        start=law.theta,
                        quick=True,
                    )
                    left_out = known.points.take(fold)
                    errors = predict_rows(again, left_out) / left_out.value - 1.0
                    squares += (errors**2).tolist()
                logs.append(0.5 * math.log(float(np.mean(squares)) + 1e-12))
        except UserError:
            return None
    return math.exp(float(np.mean(logs))) if logs else None


def _folds(known: Evidence) -> list[list[NDArray[np.bool_]]]:
    """Final points to leave out together: the largest size; mixtures in between."""
    points, final = known.points, known.final
    sizes = np.unique(points.n)
    questions = []
    if len(sizes) >= 4:
        questions.append([final & (points.n == sizes[-1])])
    inner = [p for p in np.unique(points.p) if 0 < p < 1][1:_MIXTURES]
    if inner:
        questions.append([final & (points.p == p) for p in inner])
    return questions
