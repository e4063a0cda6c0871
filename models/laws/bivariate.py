"""Encoder and decoder scaled apart: [N] eq. 1 and Proposition 1."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import Options, conclude, target
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.solver import Array
from models.laws.uncertainty import delta_variance, t_factor

NAMES = ("alpha_enc", "alpha_dec", "beta", "irreducible_loss")
_EXPONENTS = (0.03, 0.08, 0.2, 0.4, 0.8)


@dataclasses.dataclass(frozen=True)
class BivariateLaw:
    """``L = beta x_e**-alpha_enc x_d**-alpha_dec + irreducible_loss`` on its rows.

    Attributes:
      x_enc, x_dec: Parameters of either side over their reference sizes, [rows].
    """

    x_enc: Array
    x_dec: Array
    names: tuple[str, ...] = NAMES

    @property
    def lower(self) -> Array:
        """Exponents > 0, beta >= 0, irreducible loss >= 0."""
        return np.array([grouped.ALPHA_RANGE[0]] * 2 + [0.0, 0.0])

    @property
    def upper(self) -> Array:
        """Only the exponents are bounded above."""
        return np.array([grouped.ALPHA_RANGE[1]] * 2 + [np.inf, np.inf])

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Values [batch, rows] and Jacobian [batch, rows, 4]."""
        enc, dec, beta, floor = (theta[:, [k]] for k in range(4))
        log_enc, log_dec = np.log(self.x_enc), np.log(self.x_dec)
        power = np.exp(-enc * log_enc - dec * log_dec)
        reducible = beta * power
        slopes = [-reducible * log_enc, -reducible * log_dec, power]
        jacobian = np.stack([*slopes, np.ones_like(power)], axis=2)
        return reducible + floor, jacobian


def fit_bivariate(runs: Observations, options: Options | None = None) -> Law:
    """``L = a N_e**-p_e N_d**-p_d + Linf``, [N] eq. 1, in one robust fit.

    Args:
      runs: Runs of one task, test set and weighting, with n_enc and n_dec.
      options: How to fit.

    Returns:
      A law of kind ``bivariate``; ask it with `predict_shape`.

    Raises:
      UserError: n_enc or n_dec is missing, or both sides always grow together.
    """
    options = options or Options()
    where = f"fit bivariate {runs.task[0]}/{runs.test_set[0]}"
    if np.isnan(runs.n_enc).any() or np.isnan(runs.n_dec).any():
        raise UserError(f"{where}: needs the columns n_enc and n_dec in every row")
    logs = np.log(np.column_stack([runs.n_enc, runs.n_dec]))
    if np.linalg.matrix_rank(logs - logs.mean(0), tol=1e-6 * len(logs)) < 2:
        raise UserError(
            f"{where}: encoder and decoder grow together in all runs, so that only the "
            "sum of their exponents shows; train shapes with another ratio"
        )
    references = np.exp(logs.mean(0))
    form = BivariateLaw(*(np.exp(logs) / references).T)
    weightings, _ = runs.weightings()
    law = conclude(
        "bivariate", "none", form, _starts(form, runs), runs, weightings, options
    )
    named = {"n_enc": float(references[0]), "n_dec": float(references[1])}
    return dataclasses.replace(law, reference=law.reference | named)


def _starts(form: BivariateLaw, runs: Observations) -> Array:
    """Variable projection on a grid of both exponents; the four best."""
    one = np.zeros(len(runs), dtype=int)
    found, costs = [], []
    for enc, dec in itertools.product(_EXPONENTS, repeat=2):
        size = form.x_enc**enc * form.x_dec**dec
        pooled = grouped.grouped_form(size, one, ("alpha", "beta", "irreducible_loss"))
        beta, floor, sse = grouped.project(pooled, target(runs), np.ones(1))
        found.append([enc, dec, beta[0, 0], floor[0, 0]])
        costs.append(sse[0])
    return np.array(found)[np.argsort(costs)[:4]]


def predict_shape(
    law: Law, n_enc: ArrayLike, n_dec: ArrayLike, level: float = 0.95
) -> tuple[Array, Array, Array]:
    """Predicted value of models of this shape, and its interval when measured.

    Args:
      law: A bivariate law.
      n_enc, n_dec: Parameters of either side; they broadcast.
      level: Nominal coverage.
    """
    enc, dec = np.broadcast_arrays(np.asarray(n_enc, float), np.asarray(n_dec, float))
    if not ((enc > 0) & (dec > 0)).all():
        raise UserError("n_enc, n_dec: expected positive numbers of parameters")
    reference = law.reference
    form = BivariateLaw(
        enc.ravel() / reference["n_enc"], dec.ravel() / reference["n_dec"]
    )
    values, jacobian = form.evaluate(law.theta[None])
    variance = delta_variance(jacobian[0], law.covariance) + law.residual_sd**2
    half = t_factor(level, law.dof) * np.sqrt(np.nan_to_num(variance, nan=np.inf))
    centre = values[0] if law.ceiling is None else law.ceiling - values[0]
    ends = (centre - half, centre + half)
    if law.dof > 0:
        ends = tuple(law.possible(end) for end in ends)
    return tuple(part.reshape(enc.shape) for part in (centre, *ends))


def optimal_split(law: Law, n: float) -> tuple[float, float]:
    """Encoder and decoder parameters that make the most of n, [N] Prop. 1."""
    enc, dec = law.parameters["alpha_enc"], law.parameters["alpha_dec"]
    return n * enc / (enc + dec), n * dec / (enc + dec)


def split_penalty(law: Law, encoder_share: float) -> float:
    """How many times the reducible loss grows by another split, [N] Fig. 10.

    Independent of the size: 1 at the optimal split.
    """
    if not 0 < encoder_share < 1:
        raise UserError(f"encoder share {encoder_share:g}: expected between 0 and 1")
    enc, dec = law.parameters["alpha_enc"], law.parameters["alpha_dec"]
    best = enc / (enc + dec)
    ratio = enc * math.log(best / encoder_share)
    return math.exp(ratio + dec * math.log((1 - best) / (1 - encoder_share)))
