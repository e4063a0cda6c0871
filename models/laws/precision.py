"""How surely runs would pin a prediction, before they are trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from models.errors import UserError
from models.laws.approximate import CapacityForm
from models.laws.capacity import capacity
from models.laws.frontier import as_mixture
from models.laws.law import Law
from models.laws.query import Query
from models.laws.solver import Array
from models.laws.uncertainty import t_factor

# Before there is a fit: [M]'s typical curve (alpha about .3, reducible loss about .4 at
# the reference size), f near p, and [N] App. E's seed-to-seed deviation.
TYPICAL = (0.3, 0.4, 1.2)
_TYPICAL_CAPACITY = {"linear": (1.0,), "flexible": (0.2, 0.8, 1.0)}
_TYPICAL_TRANSFER = 0.1
TYPICAL_NOISE = 0.004
_TRUSTED_DOF = 5  # fewer do not tell how noisy the runs are
_VAGUE = 10.0  # nothing is known of a coefficient beyond so many times itself


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """One task's law, linear around the coefficients that are assumed.

    Attributes:
      name: The task.
      rows: Gradient of each run's value over its noise, [runs, coefficients]; 0 for
        a run that says nothing about the task.
      goals: Gradient of each value to predict over the noise, [goals, coefficients].
      informs: Whether a run enters the task's fit, [runs].
      coefficients: How many the runs can tell at all.
      noise_sd: Seed-to-seed standard deviation of a value.
      prior: Information there is without any run; next to none.
    """

    name: str
    rows: Array
    goals: Array
    informs: Array
    coefficients: int
    noise_sd: float
    prior: Array


@dataclasses.dataclass(frozen=True, eq=False)
class Precision:
    """Runs that could be trained, and what they would tell about a prediction.

    Attributes:
      n, cost: Size and cost of each run, [runs].
      tasks: What they tell about each task.
      level: Nominal coverage of the intervals.
    """

    n: Array
    cost: Array
    tasks: tuple[Task, ...]
    level: float = 0.95

    def half_width(self, chosen: Sequence[int], measured: bool = True) -> float:
        """Half an interval after these runs, the mean over tasks and goals.

        Args:
          chosen: The runs.
          measured: For a newly trained model; otherwise for the law's own value.
        """
        parts = []
        for task in self.tasks:
            known = self._known(task, chosen)
            variance = np.einsum("gi,ij,gj->g", task.goals, known, task.goals)
            parts.append(self._mean(task, variance[:, None], chosen, 0, measured)[0])
        return float(np.mean(parts))

    def outlook(self, chosen: Sequence[int]) -> tuple[float, Array]:
        """`half_width` as it stands, and after each run in addition, [runs]."""
        now, total = 0.0, np.zeros(len(self.n))
        for task in self.tasks:
            known = self._known(task, chosen)
            towards = known @ task.goals.T
            before = (task.goals.T * towards).sum(0)
            own = ((task.rows @ known) * task.rows).sum(1)
            # Sherman and Morrison: one run adds a matrix of rank one.
            gain = (task.rows @ towards).T ** 2 / (1.0 + own)
            variance = np.maximum(before[:, None] - gain, 0.0)
            now += float(self._mean(task, before[:, None], chosen, 0, True)[0])
            total += self._mean(task, variance, chosen, task.informs, True)
        return now / len(self.tasks), total / len(self.tasks)

    def _known(self, task: Task, chosen: Sequence[int]) -> Array:
        """Covariance of the coefficients over the noise's variance."""
        rows = task.rows[list(chosen)]
        return np.linalg.inv(task.prior + rows.T @ rows)

    def _mean(
        self,
        task: Task,
        variance: Array,
        chosen: Sequence[int],
        more: Array | int,
        measured: bool,
    ) -> Array:
        """Mean half width over the goals, [runs], from variances [goals, runs]."""
        spare = self._spare(task, chosen)
        # Without spare runs there is no interval; one is the least that gives some.
        first, second = (t_factor(self.level, max(spare + k, 1)) for k in (0, 1))
        factor = np.where(np.asarray(more) > 0, second, first)
        return factor * task.noise_sd * np.sqrt(variance + float(measured)).mean(0)

    def _spare(self, task: Task, chosen: Sequence[int]) -> int:
        return int(task.informs[list(chosen)].sum()) - task.coefficients

    def is_enough(self, chosen: Sequence[int]) -> bool:
        """Whether every task has more runs than coefficients."""
        return all(self._spare(task, chosen) > 0 for task in self.tasks)


def precision(
    tasks: Sequence[str],
    n: ArrayLike,
    shares: ArrayLike,
    cost: ArrayLike,
    *,
    target_n: float,
    target_shares: ArrayLike,
    laws: Mapping[str, Law] | None = None,
    noise_sd: float = TYPICAL_NOISE,
) -> Precision:
    """What candidate runs would tell about predictions of all tasks.

    Args:
      tasks: The tasks that the mixtures are over.
      n: Size of each candidate, [runs].
      shares: Its mixture, [runs, tasks].
      cost: What it costs, in any unit, [runs].
      target_n: Size of the model to predict.
      target_shares: Mixtures to predict, [goals, tasks].
      laws: Approximate laws to plan with, by task; a typical one where there is none.
      noise_sd: Seed-to-seed standard deviation where no law tells it.

    Raises:
      UserError: No candidates, or a size or cost that is not positive.
    """
    sizes, price = np.asarray(n, float), np.asarray(cost, float)
    if not len(sizes) or not ((sizes > 0) & (price > 0)).all():
        raise UserError("plan: expected candidates with positive sizes and costs")
    at, goals = np.asarray(shares, float), np.asarray(target_shares, float)
    there = np.full(len(goals), float(target_n))
    found = []
    for own, task in enumerate(tasks):
        law = (laws or {}).get(task)
        sd = noise_sd
        if law is None:
            rows, wanted, scale = _typical(tuple(tasks), own, (sizes, at, there, goals))
        else:
            if law.dof >= _TRUSTED_DOF and law.residual_sd > 0:
                sd = law.residual_sd
            scale = law.theta
            rows = _gradient(law, tasks, sizes, at, own)
            wanted = _gradient(law, tasks, there, goals, own)
        informs = at[:, own] > 0  # zero-shot rows are never fitted
        wanted = wanted[goals[:, own] > 0]
        rows = rows * informs[:, None]
        prior = np.diag(1.0 / (_VAGUE * np.maximum(np.abs(scale), 0.1)) ** 2)
        count = int((np.abs(rows).max(0) > 0).sum())
        if len(wanted):
            part = (rows / sd, wanted / sd, informs, count, sd, prior)
            found.append(Task(task, *part))
    return Precision(sizes, price, tuple(found))


def _gradient(
    law: Law, tasks: Sequence[str], n: Array, shares: Array, own: int
) -> Array:
    """The law's gradient, [rows, coefficients]; 0 for a run without the task."""
    trained = shares[:, own] > 0
    found = np.zeros((len(n), len(law.parameters)))
    mixture = as_mixture(tasks, shares[trained])
    found[trained] = law.gradient(Query(n[trained], mixture))
    return found


def _typical(
    tasks: tuple[str, ...], own: int, points: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Gradients of a typical law at candidates and goals, and its coefficients."""
    n, shares, there, goals = points
    form = {1: "linear", 2: "flexible"}.get(len(tasks), "transfer")
    others = (_TYPICAL_TRANSFER,) * (len(tasks) - 1)
    theta = np.array([*TYPICAL, *_TYPICAL_CAPACITY.get(form, others)])
    reference = float(np.exp(np.log(n).mean()))
    gradients = [
        CapacityForm(at / reference, mix[:, own], mix, capacity(form, tasks, own))
        .evaluate(theta[None])[1][0]
        for at, mix in ((n, shares), (there, goals))
    ]  # fmt: skip
    return gradients[0], gradients[1], theta
