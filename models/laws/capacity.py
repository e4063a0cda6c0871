"""Capacity functions: the effective fraction of a model that a task gets.

``f_i = N_eff / N`` of Fernandes et al. 2023 ([M]), eq. 9-10, as a function of the
mixture. Every function gives f and its derivatives, for a batch of coefficients and
for rows of weights.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import ClassVar, Protocol

import numpy as np

from models.errors import UserError
from models.laws.solver import Array

LABELS = ("linear", "flexible", "transfer", "transfer+repetition")
_SMALLEST = 1e-3  # f never falls below this share of p: interference has an end


class Capacity(Protocol):
    """A capacity function.

    Attributes:
      label: Its name in a law's ``form``.
      equation: f as an equation, with its source.
      needs_mixture: Whether f depends on the other tasks' weights too.
      names: Its coefficients.
      lower, upper: Their bounds.
    """

    label: str
    equation: str
    needs_mixture: bool
    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def evaluate(self, c: Array, p: Array, shares: Array) -> tuple[Array, Array]:
        """f and df/dc.

        Args:
          c: Coefficients, [batch, coefficients].
          p: The task's own weight, [rows].
          shares: Weight of every task, [rows, tasks].

        Returns:
          f [batch, rows] and its derivatives [batch, rows, coefficients].
        """
        ...

    def starts(self) -> Array:
        """Coefficients to start a fit from, [starts, coefficients]."""
        ...


@dataclasses.dataclass(frozen=True)
class Flexible:
    """``f(p) = p + c1 p**c2 (1 - p)**c3``, [M] eq. 12.

    >>> f, _ = Flexible().evaluate(np.array([[0.5, 1.0, 2.0]]), np.array([0.2]), None)
    >>> round(f.item(), 3)
    0.264
    """

    label: str = "flexible"
    equation: str = "f = p + c1 p^c2 (1-p)^c3   [M] eq. 11, 12"
    needs_mixture: bool = False
    names: tuple[str, ...] = ("c1", "c2", "c3")
    lower: tuple[float, ...] = (-1.0, 0.05, 0.05)
    upper: tuple[float, ...] = (20.0, 10.0, 10.0)

    def evaluate(self, c: Array, p: Array, shares: Array) -> tuple[Array, Array]:
        """See `Capacity`."""
        c1, c2, c3 = (c[:, [k]] for k in range(3))
        inside = (p > 0) & (p < 1)
        log_p = np.log(np.where(inside, p, 0.5))
        log_q = np.log1p(-np.where(inside, p, 0.5))
        shape = np.where(inside, np.exp(c2 * log_p + c3 * log_q), 0.0)
        f = p + c1 * shape
        derivatives = np.stack([shape, c1 * shape * log_p, c1 * shape * log_q], axis=2)
        return _floored(f, derivatives, p)

    def starts(self) -> Array:
        """See `Capacity`."""
        return np.array(
            list(itertools.product((0.1, 0.6, 2.0), (0.3, 1.0), (0.6, 2.0)))
            + [(-0.3, 1.0, 1.0)]
        )


@dataclasses.dataclass(frozen=True)
class Linear:
    """``f(p) = c1 (p - 1) + 1``, [M] eq. 13."""

    label: str = "linear"
    equation: str = "f = c1 (p - 1) + 1   [M] eq. 11, 13"
    needs_mixture: bool = False
    names: tuple[str, ...] = ("c1",)
    lower: tuple[float, ...] = (-1.0,)
    upper: tuple[float, ...] = (2.0,)

    def evaluate(self, c: Array, p: Array, shares: Array) -> tuple[Array, Array]:
        """See `Capacity`."""
        f = c * (p - 1.0) + 1.0
        return _floored(f, np.broadcast_to((p - 1.0)[:, None], (*f.shape, 1)), p)

    def starts(self) -> Array:
        """See `Capacity`."""
        return np.array([[0.3], [0.8], [0.97], [1.05]])


@dataclasses.dataclass(frozen=True)
class Transfer:
    """``f_i = (p_i + sum_j g_ij p_j) exp(r (1 - p_i))``: what other tasks give a task.

    ``g_ij`` is how much of a share of task j counts for task i. Without repetition
    r is 0 and with two tasks this is the linear function of [M] eq. 13 (c1 = 1 - g).
    ``r`` describes a task with little data, which over-fits at a high weight: then a
    smaller weight may be worth more than all of the model, f(1) = 1.
    For a task that is only evaluated the first trained one has g = 1.

    Attributes:
      tasks: Names of the trained tasks.
      own: The law's task among them; -1 for one that is only evaluated.
      repetition: Whether r is fitted.
    """

    tasks: tuple[str, ...]
    own: int
    repetition: bool
    needs_mixture: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """See `Capacity`."""
        return "transfer+repetition" if self.repetition else "transfer"

    @property
    def equation(self) -> str:
        """See `Capacity`."""
        if self.repetition:
            return "f = (p + sum g_j p_j) exp(r (1-p))   [M] eq. 11"
        return "f = p + sum g_j p_j   [M] eq. 11"

    @property
    def _others(self) -> list[int]:
        return [k for k in range(len(self.tasks)) if k != max(self.own, 0)]

    @property
    def names(self) -> tuple[str, ...]:
        """See `Capacity`."""
        given = tuple(f"g[{self.tasks[k]}]" for k in self._others)
        return (*given, "r") if self.repetition else given

    @property
    def lower(self) -> tuple[float, ...]:
        """Interference of up to half a share; no negative repetition."""
        low = -0.5 if self.own >= 0 else 0.0
        given = (low,) * len(self._others)
        return (*given, 0.0) if self.repetition else given

    @property
    def upper(self) -> tuple[float, ...]:
        """See `Capacity`."""
        given = (2.0 if self.own >= 0 else 50.0,) * len(self._others)
        return (*given, 10.0) if self.repetition else given

    def evaluate(self, c: Array, p: Array, shares: Array) -> tuple[Array, Array]:
        """See `Capacity`."""
        others = shares[:, self._others]
        count = others.shape[1]
        base = shares[:, max(self.own, 0)] + c[:, :count] @ others.T
        slopes = np.broadcast_to(others, (len(c), *others.shape))
        if not self.repetition:
            return _floored(base, slopes, p)
        fading = np.exp(c[:, [count]] * (1.0 - p))
        f = base * fading
        derivatives = [slopes * fading[:, :, None], ((1.0 - p) * f)[:, :, None]]
        return _floored(f, np.concatenate(derivatives, axis=2), p)

    def starts(self) -> Array:
        """See `Capacity`."""
        count = len(self._others)
        given = [(g,) * count for g in (0.02, 0.3)]
        given += [tuple(0.4 if j == k else 0.05 for j in range(count)) for k in (0, -1)]
        if not self.repetition:
            return np.array(given)
        return np.array([(*g, r) for g in given for r in (0.1, 1.0, 3.0)])


def _floored(f: Array, derivatives: Array, p: Array) -> tuple[Array, Array]:
    """Keeps f positive, where the power law needs it."""
    floor = np.maximum(_SMALLEST * p, 1e-9)
    low = f < floor
    return np.where(low, floor, f), np.where(low[:, :, None], 0.0, derivatives)


def capacity(label: str, tasks: tuple[str, ...] = (), own: int = -1) -> Capacity:
    """The capacity function of that name.

    Args:
      label: ``flexible``, ``linear``, ``transfer`` or ``transfer+repetition``.
      tasks: Names of the trained tasks, for functions of the whole mixture.
      own: The law's own task in ``tasks``; -1 for one that is not trained.

    Raises:
      UserError: No such function.
    """
    if label not in LABELS:
        raise UserError(f"capacity {label!r}: expected one of {', '.join(LABELS)}")
    if label == "flexible":
        return Flexible()
    if label == "linear":
        return Linear()
    return Transfer(tasks, own, label.endswith("repetition"))
