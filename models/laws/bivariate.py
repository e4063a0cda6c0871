"""Encoder and decoder scaled apart: Ghorbani et al. 2021 ([N]), eq. 1, Prop. 1."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws import grouped
from models.laws.fitting import Options, conclude, target
from models.laws.law import Law
from models.laws.observations import Observations
from models.laws.query import Points
from models.laws.solver import Array

NAMES = ("alpha_enc", "alpha_dec", "beta", "irreducible_loss")
_EXPONENTS = (0.03, 0.08, 0.2, 0.4, 0.8)


@dataclasses.dataclass(frozen=True)
class BivariateForm:
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


@dataclasses.dataclass(frozen=True, eq=False)
class BivariateLaw(Law):
    """The law of a model's shape, for one weighting; ask it with n_enc and n_dec."""

    kind: ClassVar[str] = "bivariate"
    form: ClassVar[str] = "none"
    equation: ClassVar[str] = (
        "L = beta (n_enc/ne0)^-alpha_enc (n_dec/nd0)^-alpha_dec + Linf   [N] eq. 1"
    )

    def _form(self, points: Points) -> BivariateForm:
        self._known(points)
        enc, dec = points.n_enc, points.n_dec
        if enc is None or dec is None:  # as good as any shape of that size
            enc, dec = self.optimal_split(points.n)
        return BivariateForm(
            enc / self.reference["n_enc"], dec / self.reference["n_dec"]
        )

    def optimal_split(self, n: ArrayLike) -> tuple[Array, Array]:
        """Encoder and decoder parameters that make the most of n.

        Ghorbani et al. 2021, Proposition 1.
        """
        enc, dec = self.parameters["alpha_enc"], self.parameters["alpha_dec"]
        total = np.asarray(n, float)
        return total * enc / (enc + dec), total * dec / (enc + dec)

    def split_penalty(self, encoder_share: float) -> float:
        """How many times the reducible loss grows by another split.

        Ghorbani et al. 2021, Fig. 10. Independent of the size: 1 at the optimal split.
        """
        if not 0 < encoder_share < 1:
            raise UserError(
                f"encoder share {encoder_share:g}: expected between 0 and 1"
            )
        enc, dec = self.parameters["alpha_enc"], self.parameters["alpha_dec"]
        best = enc / (enc + dec)
        ratio = enc * math.log(best / encoder_share)
        return math.exp(ratio + dec * math.log((1 - best) / (1 - encoder_share)))

    def remarks(self) -> list[str]:
        """The best split between the sides, and what an even one costs."""
        enc, dec = self.parameters["alpha_enc"], self.parameters["alpha_dec"]
        return [
            f"optimal split ([N] Prop. 1): {enc / (enc + dec):.1%} of n to the "
            f"encoder, exponent {enc + dec:.4g}; the same on both sides costs "
            f"{self.split_penalty(0.5):.3f}x the reducible part"
        ]


def fit_bivariate(runs: Observations, options: Options | None = None) -> BivariateLaw:
    """``L = a N_e**-p_e N_d**-p_d + Linf``, [N] eq. 1, in one robust fit.

    Args:
      runs: Runs of one task, test set and weighting, with n_enc and n_dec.
      options: How to fit.

    Returns:
      The law; ask it with ``Query(n_enc=.., n_dec=..)``.

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
    form = BivariateForm(*(np.exp(logs) / references).T)
    law = conclude(BivariateLaw, form, _starts(form, runs), runs, options)
    named = {"n_enc": float(references[0]), "n_dec": float(references[1])}
    return dataclasses.replace(law, reference=law.reference | named)


def _starts(form: BivariateForm, runs: Observations) -> Array:
    """Variable projection on a grid of both exponents; the four best."""
    found, costs = [], []
    for enc, dec in itertools.product(_EXPONENTS, repeat=2):
        size = form.x_enc**enc * form.x_dec**dec
        pooled = grouped.grouped_form(size)
        beta, floor, sse = grouped.project(pooled, target(runs), np.ones(1))
        found.append([enc, dec, beta[0, 0], floor[0, 0]])
        costs.append(sse[0])
    return np.array(found)[np.argsort(costs)[:4]]
