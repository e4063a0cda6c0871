"""Where a law is asked: sizes and mixtures, checked and spread over rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.errors import UserError
from models.laws.observations import Weighting
from models.laws.solver import Array

Shares = ArrayLike | Mapping[str, ArrayLike] | Weighting
_SAME = 1e-6


@dataclasses.dataclass(frozen=True)
class Points:
    """Sizes and mixtures, one a row.

    Attributes:
      n: Sizes, [rows].
      own: The task's own weight, [rows].
      shares: Weight of every trained task, [rows, tasks]; NaN where unknown.
      tasks: Names of the trained tasks.
      weightings: The mixtures that the asked law was fitted on.
      chosen: One of them, when it was asked for by itself.
      where: The law's name, for messages.
    """

    n: Array
    own: Array
    shares: Array
    tasks: tuple[str, ...]
    weightings: tuple[Weighting, ...]
    chosen: Weighting | None
    where: str

    def known(self) -> NDArray[np.int64]:
        """Index of each row's mixture among the fitted ones, [rows].

        Raises:
          UserError: One of them is not among them.
        """
        if self.chosen is not None:
            same = [k for k, w in enumerate(self.weightings) if w.same(self.chosen)]
            if not same:
                raise UserError(f"{self.where}: was not fitted on {self.chosen.label}")
            return np.full(len(self.n), same[0])
        return np.array([self._known(row) for row in range(len(self.n))], dtype=int)

    def labels(self) -> list[str]:
        """Label of each row's mixture; empty where it is not among the fitted."""
        if self.chosen is not None:
            return [self.chosen.label] * len(self.n)
        found = [self._matches(row) for row in range(len(self.n))]
        return [self.weightings[k[0]].label if len(k) == 1 else "" for k in found]

    def _matches(self, row: int) -> list[int]:
        p, shares = self.own[row], self.shares[row]
        return [
            k
            for k, known in enumerate(self.weightings)
            if abs(known.p - p) < _SAME and _same(known.mixture, self.tasks, shares)
        ]

    def _known(self, row: int) -> int:
        p, found = self.own[row], self._matches(row)
        if len(found) == 1:
            return found[0]
        labels = ", ".join(weighting.label for weighting in self.weightings)
        if found:
            raise UserError(
                f"{self.where}: p = {p:g} stands for {len(found)} of its weightings "
                f"({labels}); give the whole mixture"
            )
        raise UserError(
            f"{self.where}: p = {p:g} is not one of its weightings ({labels}); the "
            "approximate law predicts any p"
        )


def resolve(
    n: ArrayLike,
    p: Shares,
    task: str,
    tasks: tuple[str, ...],
    weightings: tuple[Weighting, ...],
    where: str,
) -> Points:
    """Spreads sizes and mixtures over rows and checks them.

    Args:
      n, p: As in `Law.predict`.
      task: The law's task.
      tasks: The trained tasks.
      weightings: The fitted mixtures.
      where: The law's name, for messages.

    Raises:
      UserError: n is not positive, a weight is outside [0, 1], or a task unknown.
    """
    chosen = p if isinstance(p, Weighting) else None
    if chosen is not None:
        p = chosen.mixture or chosen.p
    sizes, *weights = _flat(n, p)
    bad = ~(np.isfinite(sizes) & (sizes > 0))
    if bad.any():
        raise UserError(f"n: {sizes[bad][0]:g}; expected a positive number")
    if isinstance(p, Mapping):
        unknown = set(p) - set(tasks) - {task}
        if unknown:
            raise UserError(
                f"unknown task {', '.join(sorted(unknown))}; this law knows "
                f"{', '.join(tasks)}"
            )
        given = dict(zip(p, weights, strict=True))
        absent = np.zeros_like(sizes)
        shares = np.column_stack([given.get(name, absent) for name in tasks])
        own = given.get(task, absent)
    else:
        own = weights[0]
        shares = _completed(own, task, tasks)
    outside = ~((own >= 0) & (own <= 1))
    if outside.any():
        raise UserError(f"p: {own[outside][0]:g}; expected a weight in [0, 1]")
    return Points(sizes, own, shares, tasks, weightings, chosen, where)


def shape(n: ArrayLike, p: Shares) -> tuple[int, ...]:
    """The broadcast shape of sizes and mixtures."""
    return np.broadcast_shapes(*(np.shape(part) for part in _parts(n, p)))


def _parts(n: ArrayLike, p: Shares) -> list[ArrayLike]:
    if isinstance(p, Weighting):
        return [n]
    return [n, *(p.values() if isinstance(p, Mapping) else [p])]


def _flat(n: ArrayLike, p: Shares) -> list[Array]:
    parts = [np.asarray(part, float) for part in _parts(n, p)]
    return [array.ravel() for array in np.broadcast_arrays(*parts)]


def _completed(own: Array, task: str, tasks: tuple[str, ...]) -> Array:
    """All weights from the task's own, as far as it tells them."""
    shares = np.full((len(own), len(tasks)), np.nan)
    if len(tasks) == 2:
        shares[:] = (1.0 - own)[:, None]
    elif len(tasks) == 1:
        shares[:] = 0.0
    shares[own == 1] = 0.0
    if task in tasks:
        shares[:, tasks.index(task)] = own
    return shares


def _same(known: Mapping[str, float], tasks: tuple[str, ...], weights: Array) -> bool:
    """Whether a mixture has these weights, as far as both are known."""
    if not known or np.isnan(weights).any():
        return True
    pairs = zip(tasks, weights, strict=True)
    return all(abs(known.get(task, 0.0) - weight) < _SAME for task, weight in pairs)
