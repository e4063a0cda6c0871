"""Scaling laws: arrays in, frozen records out. NumPy and SciPy only.

What a reader of fitted laws needs (everything is importable from here)::

    law.kind          "individual" (eq. 6, one record a weighting), "joint" (eq. 7),
                      "approximate" (eq. 11), "bivariate" ([N] eq. 1)
    law.task, law.test_set, law.metric
    law.form          what is shared or which capacity function: "flexible", ..
    law.parameters    {"alpha": .., "irreducible_loss": .., "beta": ..}; a joint law has
                      one "beta[LABEL]" for each weighting instead of "beta"
    law.standard_errors                                   the same names
    law.coefficient_interval(name, level=0.95)            -> (low, high)
    law.reference     {"n": N0}: beta * (n / N0) ** -alpha + irreducible_loss, so
                      beta is the reducible loss at N0 and carries no unit of n.
                      N0 is the same for all laws of one fit.
    law.weightings    (Weighting(label, p, mixture), ...): those the law was fitted on
    law.weighting_of(p)                                   -> the Weighting, or UserError
    law.predict(n, p)                                     -> array, nats per token
    law.interval(n, p, level=0.95, measured=True)         -> (low, high) arrays: for a
                      new measured value; measured=False: for the law's own value
    law.effective_fraction(p, level=0.95)                 -> (f, low, high) arrays
                      ([M] eq. 9-10; joint: known weightings only; approximate: any p)
    law.statistics    {"r2", "rmse", "max_abs_error", "n_points", "dof", "aicc"}
    law.fitted_range  {"n": (lo, hi), "p": (lo, hi)}
    law.warnings      sentences
    law.draws         array [draws, parameters], may be empty
    str(law)          as a scientist writes it

``p`` is the task's own sampling probability (a number or an array), or a mapping
``{"en-de": .3, "en-fr": .7}`` of the whole mixture (values may be arrays); with two
tasks the number is enough. ``n`` and ``p`` broadcast.

    find(laws, kind, task, test_set=None)                 -> the Law, or None
    find_all(laws, kind=None, task=None, test_set=None)   -> list
    frontier(laws, n, points=101, level=0.95)             -> Frontier
        .tasks (names), .weights [points, tasks], .losses [points, tasks],
        .low, .high [points, tasks]             laws: approximate, one a task
    recommend(laws, n, preference=None, objective="weighted", ...)
                                                          -> Recommendation
"""

from models.laws.approximate import fit_approximate
from models.laws.fitting import Options
from models.laws.frontier import Frontier, frontier
from models.laws.individual import fit_individual, fit_univariate
from models.laws.joint import fit_joint
from models.laws.law import Law, find, find_all
from models.laws.observations import Observations, Weighting, observations
from models.laws.recommendation import (
    Alternative,
    Recommendation,
    Repetition,
    recommend,
)

__all__ = [
    "Alternative",
    "Frontier",
    "Law",
    "Observations",
    "Options",
    "Recommendation",
    "Repetition",
    "Weighting",
    "find",
    "find_all",
    "fit_approximate",
    "fit_individual",
    "fit_joint",
    "fit_univariate",
    "frontier",
    "observations",
    "recommend",
]
