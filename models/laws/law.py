"""What every fitted law has in common: the protocol and the record of the fit."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.errors import UserError
from models.laws.observations import Weighting
from models.laws.printing import law_text
from models.laws.query import Points, Query, Shares
from models.laws.solver import Array, Form
from models.laws.uncertainty import Coefficient, Misfit, delta_variance, t_factor

CEILINGS = {"bleu": 100.0, "chrf": 100.0, "bleurt": 1.0, "comet": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class Law(abc.ABC):
    """A fitted law of one task on one test set.

    There is one class for each kind of law. A class says which form it has on some
    points (`_form`) and which equation that is; `predict`, `interval`,
    `coefficients` and `describe` follow from it.

    Attributes:
      task, test_set, metric: What it describes.
      parameters: Name -> estimate, by the papers' names.
      covariance: Of the parameters in that order; NaN without degrees of freedom.
      residual_sd: Standard deviation of one measurement around the law.
      reference: Reference sizes: ``n`` is divided by ``reference["n"]``.
      tasks: The trained tasks, in the order of the mixture.
      weightings: The mixtures it was fitted on, each with its group of runs.
      statistics: r2, rmse, max_abs_error, n_points, dof, aicc.
      fitted_range: Smallest and largest ``n`` and ``p`` of the fitted runs.
      warnings: Sentences.
      draws: Parameters under the fit's uncertainty, [draws, parameters].
      fixed: Parameters that were given, not fitted.
      undetermined: Parameters that the fitted values do not depend on.
      noise: Label of a weighting -> its noise over ``residual_sd``, where seeds tell.
      shared_noise: Another task -> covariance of these coefficients with those of its
        law, [parameters, its parameters]; see `models.laws.shared_noise`.
      misfit: How wrong this kind of law is on larger sizes than it has seen.
    """

    kind: ClassVar[str]
    # Whether it predicts mixtures that it was not fitted on, and knows amounts of data.
    any_mixture: ClassVar[bool] = False
    knows_tokens: ClassVar[bool] = False

    task: str
    test_set: str
    metric: str
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
    misfit: Misfit = Misfit()

    @property
    @abc.abstractmethod
    def form(self) -> str:
        """What the weightings share, or the name of the capacity function."""

    @property
    @abc.abstractmethod
    def equation(self) -> str:
        """The law as an equation, with its source."""

    @abc.abstractmethod
    def _form(self, points: Points) -> Form:
        """The law's formula on these points; UserError where it has none."""

    @property
    def name(self) -> str:
        """Kind and task, for messages."""
        return f"{self.kind} law of {self.task}"

    @property
    def theta(self) -> Array:
        """The estimates, [parameters]."""
        return np.array(list(self.parameters.values()))

    @property
    def dof(self) -> float:
        """Degrees of freedom of the residuals."""
        return float(self.statistics["dof"] or 0.0)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of runs that it was fitted on; ``("",)`` without any."""
        return tuple(dict.fromkeys(one.group for one in self.weightings))

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

    def coefficients(self, level: float = 0.95) -> dict[str, Coefficient]:
        """Every coefficient with its standard error and interval."""
        found = {}
        for name, error in self.standard_errors.items():
            value = self.parameters[name]
            half = t_factor(level, self.dof) * error if error > 0 else 0.0
            low = value - half
            positive = name.startswith(("alpha", "beta", "irreducible_loss"))
            if positive and np.isfinite(low):
                low = max(low, 0.0)
            found[name] = Coefficient(value, error, low, value + half)
        return found

    def covers(self, weighting: Weighting) -> bool:
        """Whether the law can predict this weighting."""
        return any(weighting.same(one) for one in self.weightings)

    def weighting_of(self, mixture: Shares) -> Weighting:
        """The fitted weighting with these weights.

        Raises:
          UserError: The law was not fitted on it.
        """
        points = self._points(Query(1.0, mixture))
        return self.weightings[self._known(points)[0]]

    def predict(self, query: Query) -> Array:
        """The law's value.

        Returns:
          Nats per token, or the metric, in the broadcast shape of the query.

        Raises:
          UserError: The query is impossible, or this kind of law does not cover it.
        """
        points = self._points(query)
        return self._evaluate(points, self.theta[None])[0][0].reshape(points.shape)

    def gradient(self, query: Query) -> Array:
        """Derivatives of the law's value, [rows, parameters]."""
        return self._evaluate(self._points(query), self.theta[None])[1][0]

    def interval(
        self, query: Query, level: float = 0.95, measured: bool = True
    ) -> tuple[Array, Array]:
        """Interval of the prediction.

        Args:
          query: As in `predict`.
          level: Its nominal coverage.
          measured: For a newly trained and measured model; otherwise for the
            law's value, without the noise of a run.

        Returns:
          Lower and upper ends, within what the metric can be; infinite where the
          fit had no degree of freedom.
        """
        points = self._points(query)
        values, jacobian = self._evaluate(points, self.theta[None])
        if self.dof <= 0:
            endless = np.full(points.shape, np.inf)
            return -endless, endless
        variance = self._variance(points, jacobian[0], measured)
        half = t_factor(level, self.dof) * np.sqrt(np.maximum(variance, 0.0))
        if self.misfit.sd > 0:
            wrong = self.misfit.at(points.n, self.fitted_range["n"][1])
            half = np.hypot(half, t_factor(level, self.misfit.points) * wrong)
        low, high = self.possible(values[0] - half), self.possible(values[0] + half)
        return low.reshape(points.shape), high.reshape(points.shape)

    def variance(self, query: Query) -> Array:
        """Variance of a newly measured value around the prediction, without misfit.

        Returns:
          [rows]; NaN where the fit had no degree of freedom.
        """
        points = self._points(query)
        jacobian = self._evaluate(points, self.theta[None])[1]
        return self._variance(points, jacobian[0], measured=True)

    def _variance(self, points: Points, jacobian: Array, measured: bool) -> Array:
        variance = delta_variance(jacobian, self.covariance)
        if not measured:
            return variance
        ratio = self._noise_ratio(points) if self.noise else 1.0
        return variance + (self.residual_sd * ratio) ** 2

    def possible(self, values: Array) -> Array:
        """The nearest values that the metric can have: no loss is below 0.

        Nothing that can be measured lies outside, so that an interval which ends
        here covers as much as one that does not.
        """
        return np.clip(values, 0.0, np.inf if self.ceiling is None else self.ceiling)

    def admissible(self, theta: Array) -> Array:
        """The nearest coefficients within the law's bounds, [parameters]."""
        form = self._form(self._points(Query(1.0, self.weightings[0])))
        return np.clip(theta, form.lower, form.upper)

    def effective_fraction(
        self, mixture: Shares, level: float = 0.95
    ) -> tuple[Array, Array, Array]:
        """Effective fraction of the model that the task gets.

        Fernandes et al. 2023, eq. 9-10.

        Args:
          mixture: As in `Query`; a joint law knows only the weightings it was fitted
            on, and needs p = 1 among them.
          level: Nominal coverage of the interval.

        Returns:
          f, and the ends of its interval (on a log scale, so that they are > 0).

        Raises:
          UserError: The law has no exponent that all weightings share.
        """
        points = self._points(Query(1.0, mixture))
        log_f, jacobian = self._log_fraction(points)
        variance = delta_variance(jacobian, self.covariance)
        spread = np.sqrt(np.where(np.isnan(variance), np.inf, variance))
        half = np.where(spread > 0, t_factor(level, self.dof) * spread, 0.0)
        ends = (log_f, log_f - half, log_f + half)
        f, low, high = (np.exp(np.clip(end, -700, 700)) for end in ends)
        shape = points.shape
        return f.reshape(shape), low.reshape(shape), high.reshape(shape)

    def log_fraction(self, mixture: Shares) -> tuple[Array, Array]:
        """Logarithm of the effective fraction, and how it depends on the coefficients.

        Args:
          mixture: As in `effective_fraction`.

        Returns:
          log f [rows] and its gradient [rows, parameters].

        Raises:
          UserError: As `effective_fraction`.
        """
        return self._log_fraction(self._points(Query(1.0, mixture)))

    def describe(self) -> str:
        """The law as a scientist writes it."""
        return law_text(self)

    def remarks(self) -> list[str]:
        """What else this kind of law says in `describe`, lines."""
        return []

    def _log_fraction(self, points: Points) -> tuple[Array, Array]:
        """log f [rows] and its gradient [rows, parameters]."""
        raise UserError(
            f"{self.name}: an effective fraction needs one alpha for all weightings; "
            "use the joint or approximate law"
        )

    def _points(self, query: Query) -> Points:
        """The query on rows, of one of this law's groups."""
        points = query.points(self.task, self.tasks, self.weightings)
        if points.group and points.group not in self.groups:
            raise UserError(
                f"{self.name}: no group {points.group}; it has "
                f"{', '.join(filter(None, self.groups)) or 'none'}"
            )
        return points

    def _known(self, points: Points) -> NDArray[np.int64]:
        """Index of each row's weighting; UserError where it was not fitted."""
        index = points.index_in(self.weightings)
        if (index >= 0).all():
            return index
        row = int(np.argmax(index < 0))
        labels = ", ".join(weighting.label for weighting in self.weightings)
        p = f"p = {points.own[row]:g}"
        if points.chosen is not None:
            raise UserError(f"{self.name}: was not fitted on {points.chosen.label}")
        if index[row] == -2:
            raise UserError(
                f"{self.name}: {p} matches several of its weightings ({labels}); give "
                "the whole mixture and the group (--by)"
            )
        raise UserError(
            f"{self.name}: {p} is not one of its weightings ({labels}); the "
            "approximate law predicts any p"
        )

    def _noise_ratio(self, points: Points) -> Array:
        """Each row's noise over the typical one; 1 for a mixture without seeds."""
        index = points.index_in(self.weightings)
        labels = [self.weightings[k].label if k >= 0 else "" for k in index]
        return np.array([self.noise.get(label, 1.0) for label in labels])

    def _evaluate(self, points: Points, theta: Array) -> tuple[Array, Array]:
        """Values and Jacobian, on the scale of the metric."""
        values, jacobian = self._form(points).evaluate(theta)
        if self.ceiling is None:
            return values, jacobian
        return self.ceiling - values, -jacobian


AnyLaw = TypeVar("AnyLaw", bound=Law)


def find_all(
    laws: Iterable[Law],
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
