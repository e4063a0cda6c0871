"""Scaling laws: arrays in, frozen records out. NumPy and SciPy only.

There is one class for each kind of law, behind one protocol (`models.laws.law.Law`)::

    IndividualLaw   one weighting alone                     [M] eq. 6
    JointLaw        one alpha and irreducible loss for all   [M] eq. 7
    SharedLaw       one alpha for all weightings
    ApproximateLaw  any mixture, by a capacity function      [M] eq. 11
    BivariateLaw    the model's shape                        [N] eq. 1

[M] is Fernandes et al. 2023, [N] is Ghorbani et al. 2021. Every law answers

    law.predict(query)                          -> array, nats per token
    law.interval(query, level=.95, measured=True)   -> (low, high) arrays: for a newly
                      measured value; measured=False: for the law's own value
    law.coefficients(level=.95)                 -> name -> value, error, low, high
    law.describe()                              -> text, as a scientist writes it

``Query(n, mixture)`` is the question: ``n`` parameters, and the task's own weight, the
whole mixture ``{"en-de": .3, "en-fr": .7}`` (values may be arrays) or one of
``law.weightings``; also ``n_enc`` and ``n_dec`` for a shape, and ``group`` where runs
are set apart by something else. Sizes are divided by ``law.reference["n"]``, so
``beta`` is the reducible loss there and carries no unit of n.
"""

from models.laws.alternatives import Alternative
from models.laws.approximate import ApproximateLaw, fit_approximate
from models.laws.bivariate import BivariateLaw, fit_bivariate
from models.laws.fitting import Options
from models.laws.frontier import Frontier, frontier
from models.laws.law import Law, find, find_all
from models.laws.observations import Observations, Weighting, observations
from models.laws.power import (
    IndividualLaw,
    JointLaw,
    SharedLaw,
    fit_individual,
    fit_joint,
    fit_univariate,
)
from models.laws.query import Query
from models.laws.recommendation import Recommendation, Repetition, recommend

__all__ = [
    "Alternative",
    "ApproximateLaw",
    "BivariateLaw",
    "Frontier",
    "IndividualLaw",
    "JointLaw",
    "Law",
    "Observations",
    "Options",
    "Query",
    "Recommendation",
    "Repetition",
    "SharedLaw",
    "Weighting",
    "find",
    "find_all",
    "fit_approximate",
    "fit_bivariate",
    "fit_individual",
    "fit_joint",
    "fit_univariate",
    "frontier",
    "observations",
    "recommend",
]
