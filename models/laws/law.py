"""The record of a fitted law: what it predicts, how surely, and how it prints."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws import capacity as capacities
from models.laws.capacity_law import CapacityLaw
from models.laws.grouped import grouped_form
from models.laws.observations import Weighting
from models.laws.points import Points, Shares, resolve, shape
from models.laws.printing import law_text
from models.laws.solver import Array, Form
from models.laws.uncertainty import delta_variance, t_factor

CEILINGS = {"bleu": 100.0, "chrf": 100.0, "bleurt": 1.0, "comet": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class Law:
    """A fitted law of one task on one test set. See ``models.laws`` for its use.

    Attributes:
      kind: ``individual``, ``joint`` or ``approximate``.
      task, test_set, metric: What it describes.
      form: What the weightings share, or the name of the capacity function.
      parameters: Name -> estimate, by the papers' names.
      covariance: Of the parameters in that order; NaN without degrees of freedom.
      residual_sd: Standard deviation of one measurement around the law.
      reference: Reference size: ``n`` is divided by it.
      tasks: The trained tasks, in the order of the mixture.
      weightings: The mixtures it was fitted on.
      statistics: r2, rmse, max_abs_error, n_points, dof, aicc.
      fitted_range: Smallest and largest ``n`` and ``p`` of the fitted runs.
      warnings: Sentences.
      draws: Parameters under the fit's uncertainty, [draws, parameters].
      fixed: Parameters that were given, not fitted.
      undetermined: Parameters that the fitted values do not depend on.
      noise: Label of a weighting -> its noise over ``residual_sd``, where seeds tell.
      shared_noise: Another task -> covariance of these coefficients with those of its
        law, [parameters, its parameters]; see `models.laws.shared_noise`.
    """

    kind: str
    task: str
    test_set: str
    metric: str
    form: str
    parameters: Mapping[str, float]
    covariance: Array
    residual_sd: float
    reference: Mapping[str, float]
    tasks: tuple[str, ...]
    weightings: tuple[Weighting, ...]
    statistics: Mapping[str, float | None]
    fitted_range: Mapping[str, tuple[float, float]]
    warnings: tuple[str, ...]
    draws: Array
    fixed: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()
    noise: Mapping[str, float] = dataclasses.field(default_factory=dict)
    shared_noise: Mapping[str, Array] = dataclasses.field(default_factory=dict)

    @property
    def theta(self) -> Array:
        """The estimates, [parameters]."""
        return np.array(list(self.parameters.values()))

    @property
    def dof(self) -> float:
        """Degrees of freedom of the residuals."""
        return float(self.statistics["dof"] or 0.0)

    @property
    def standard_errors(self) -> dict[str, float]:
        """Name -> standard error; infinite where the runs leave it open."""
        sd = np.sqrt(np.nan_to_num(np.diag(self.covariance), nan=np.inf)).tolist()
        pairs = zip(self.parameters, sd, strict=True)
        return {
            name: float("inf") if name in self.undetermined else error
            for name, error in pairs
        }

    @property
    def ceiling(self) -> float | None:
        """The value a rising metric approaches; None for a loss, which falls."""
        return CEILINGS.get(self.metric)

    def weighting_of(self, p: float | Mapping[str, float]) -> Weighting:
        """The fitted mixture with these weights.

        Raises:
          UserError: The law was not fitted on it.
        """
        return self.weightings[self._points(1.0, p).known()[0]]

    def admissible(self, theta: Array) -> Array:
        """The nearest coefficients within the law's bounds, [parameters]."""
        form = self._form(self._points(1.0, self.weightings[0]))
        return np.clip(theta, form.lower, form.upper)

    def predict(self, n: ArrayLike, p: Shares) -> Array:
        """The law's value.

        Args:
          n: Non-embedding parameters.
          p: The task's own weight, or every task's; broadcasts with ``n``.

        Returns:
          Nats per token, or the metric, in the broadcast shape.

        Raises:
          UserError: n is not positive, p is not in (0, 1], or the law knows only
            the mixtures it was fitted on and this is another.
        """
        expected = shape(n, p)
        values, _ = self._evaluate(n, p, self.theta[None])
        return values[0].reshape(expected)

    def gradient(self, n: ArrayLike, p: Shares) -> Array:
        """Derivatives of the law's value, [rows, parameters]."""
        return self._evaluate(n, p, self.theta[None])[1][0]

    def predict_draws(self, n: ArrayLike, p: Shares) -> Array:
        """The law's value under each draw, [draws, rows]."""
        return self._evaluate(n, p, self.draws)[0]

    def interval(
        self, n: ArrayLike, p: Shares, level: float = 0.95, measured: bool = True
    ) -> tuple[Array, Array]:
        """Interval of the prediction.

        Args:
          n, p: As in `predict`.
          level: Its nominal coverage.
          measured: For a newly trained and measured model; otherwise for the
            law's value, without the noise of a run.

        Returns:
          Lower and upper ends, within what the metric can be; infinite where the
          fit had no degree of freedom.
        """
        expected = shape(n, p)
        values, jacobian = self._evaluate(n, p, self.theta[None])
        if self.dof <= 0:
            endless = np.full(expected, np.inf)
            return -endless, endless
        variance = delta_variance(jacobian[0], self.covariance)
        if measured:
            ratio = self._noise_ratio(self._points(n, p)) if self.noise else 1.0
            variance = variance + (self.residual_sd * ratio) ** 2
        half = t_factor(level, self.dof) * np.sqrt(np.maximum(variance, 0.0))
        ends = (values[0] - half, values[0] + half)
        return tuple(self.possible(end).reshape(expected) for end in ends)

    def possible(self, values: Array) -> Array:
        """The nearest values that the metric can have: no loss is below 0.

        Nothing that can be measured lies outside, so that an interval which ends
        here covers as much as one that does not.
        """
        return np.clip(values, 0.0, np.inf if self.ceiling is None else self.ceiling)

    def _noise_ratio(self, points: Points) -> Array:
        """Each row's noise over the typical one; 1 for a mixture without seeds."""
        labels = points.labels()
        return np.array([self.noise.get(label, 1.0) for label in labels])

    def coefficient_interval(
        self, name: str, level: float = 0.95
    ) -> tuple[float, float]:
        """Interval of one coefficient; what cannot be negative is not."""
        error = self.standard_errors[name]
        half = t_factor(level, self.dof) * error if error > 0 else 0.0
        low = self.parameters[name] - half
        positive = name.startswith(("alpha", "beta", "irreducible_loss"))
        if positive and math.isfinite(low):
            low = max(low, 0.0)
        return low, self.parameters[name] + half

    def effective_fraction(
        self, p: Shares, level: float = 0.95
    ) -> tuple[Array, Array, Array]:
        """Effective fraction of the model that the task gets, [M] eq. 9-10.

        Args:
          p: As in `predict`; a joint law knows only the weightings it was fitted
            on, and needs p = 1 among them.
          level: Nominal coverage of the interval.

        Returns:
          f, and the ends of its interval (on a log scale, so that they are > 0).
        """
        expected = shape(1.0, p)
        f, jacobian = self._log_fraction(self._points(1.0, p))
        variance = delta_variance(jacobian, self.covariance)
        spread = np.sqrt(np.where(np.isnan(variance), np.inf, variance))
        half = np.where(spread > 0, t_factor(level, self.dof) * spread, 0.0)
        ends = (np.exp(np.clip(end, -700, 700)) for end in (f, f - half, f + half))
        return tuple(end.reshape(expected) for end in ends)

    def _log_fraction(self, points: Points) -> tuple[Array, Array]:
        """log f [rows] and its gradient [rows, parameters]."""
        if self.kind == "approximate":
            form = self._form(points)
            f, jacobian = form.effective_fraction(self.theta[None])
            return np.log(f[0]), jacobian[0] / f[0][:, None]
        names = list(self.parameters)
        if self.kind != "joint" or "alpha" not in names:
            raise UserError(
                f"{self.kind} law of {self.task}: an effective fraction needs one "
                "alpha for all weightings; use the joint or approximate law"
            )
        index = points.known()
        betas = np.array(
            [names.index(f"beta[{self.weightings[k].label}]") for k in index]
        )
        whole = [k for k, w in enumerate(self.weightings) if w.p == 1]
        if not whole:
            raise UserError(
                f"joint law of {self.task}: the effective fraction compares with "
                "p = 1, which was not trained; use the approximate law"
            )
        one = names.index(f"beta[{self.weightings[whole[0]].label}]")
        theta, alpha = np.maximum(self.theta, 1e-12), self.parameters["alpha"]
        log_f = (np.log(theta[one]) - np.log(theta[betas])) / alpha
        jacobian = np.zeros((len(index), len(theta)))
        rows = np.arange(len(index))
        jacobian[rows, names.index("alpha")] = -log_f / alpha
        jacobian[rows, betas] -= 1.0 / (alpha * theta[betas])
        jacobian[rows, one] += 1.0 / (alpha * theta[one])
        return log_f, jacobian

    def _capacity(self) -> capacities.Capacity:
        own = self.tasks.index(self.task) if self.task in self.tasks else -1
        return capacities.capacity(self.form, self.tasks, own)

    def _evaluate(self, n: ArrayLike, p: Shares, theta: Array) -> tuple[Array, Array]:
        """Values and Jacobian, on the scale of the metric."""
        values, jacobian = self._form(self._points(n, p)).evaluate(theta)
        if self.ceiling is None:
            return values, jacobian
        return self.ceiling - values, -jacobian

    def _points(self, n: ArrayLike, p: Shares) -> Points:
        where = f"{self.kind} law of {self.task}"
        return resolve(n, p, self.task, self.tasks, self.weightings, where)

    def _form(self, points: Points) -> Form:
        """The law's formula on these points."""
        if self.kind == "bivariate":
            raise UserError(
                f"bivariate law of {self.task}: a size alone has no shape; ask "
                "predict_shape(law, n_enc, n_dec)"
            )
        x = points.n / self.reference["n"]
        if self.kind == "approximate":
            return CapacityLaw(x, points.own, points.shares, self._capacity())
        return grouped_form(x, points.known(), tuple(self.parameters))

    def __str__(self) -> str:
        return law_text(self)


def find_all(
    laws: Sequence[Law],
    kind: str | None = None,
    task: str | None = None,
    test_set: str | None = None,
) -> list[Law]:
    """The laws of this kind, task and test set; ``None`` stands for any."""
    return [
        law
        for law in laws
        if kind in (None, law.kind)
        and task in (None, law.task)
        and test_set in (None, law.test_set)
    ]


def find(
    laws: Sequence[Law], kind: str, task: str, test_set: str | None = None
) -> Law | None:
    """The first law of this kind, task and test set, or None."""
    found = find_all(laws, kind, task, test_set)
    return found[0] if found else None
