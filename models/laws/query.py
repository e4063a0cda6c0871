"""Where a law is asked: a size or a shape, a mixture and a group of runs."""

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
_OWN = ""  # stands for the task's own weight where that alone is given


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """A question to a law; its numbers broadcast.

    Attributes:
      n: Non-embedding parameters; both sides together where a shape is given.
      mixture: The task's own weight, every task's, or a weighting that the law was
        fitted on; None for the only weighting of a law.
      n_enc, n_dec: Parameters of either side.
      group: The group of runs, as ``arch=B``; empty for the only one.
      tokens: Training tokens of all tasks, for laws that depend on them; infinite for
        endless data. Other laws are of the length that their runs were trained for.
    """

    n: ArrayLike | None = None
    mixture: Shares | None = None
    n_enc: ArrayLike | None = None
    n_dec: ArrayLike | None = None
    group: str = ""
    tokens: ArrayLike | None = None

    def points(
        self, task: str, tasks: tuple[str, ...], weightings: tuple[Weighting, ...]
    ) -> Points:
        """The question row by row, for the law of a task.

        Args:
          task: The law's task.
          tasks: The trained tasks.
          weightings: The mixtures that the law was fitted on.

        Raises:
          UserError: A size is missing or not positive, a weight is outside [0, 1],
            or a task is unknown.
        """
        mixture, group = self.mixture, self.group
        if mixture is None:
            mixture = _only(weightings, task)
        chosen = mixture if isinstance(mixture, Weighting) else None
        if chosen is not None:
            mixture, group = chosen.mixture or chosen.p, chosen.group
        weights = mixture if isinstance(mixture, Mapping) else {_OWN: mixture}
        _check_tasks(weights, task, tasks)
        numbers = {"n": self.n, "n_enc": self.n_enc, "n_dec": self.n_dec}
        numbers |= {"tokens": self.tokens}
        sizes = {name: value for name, value in numbers.items() if value is not None}
        parts = [
            np.asarray(part, float) for part in (*sizes.values(), *weights.values())
        ]
        arrays = np.broadcast_arrays(*parts)
        shape = arrays[0].shape
        rows = dict(zip([*sizes, *weights], (a.ravel() for a in arrays), strict=True))
        own, shares = _weights({name: rows[name] for name in weights}, task, tasks)
        return Points(
            n=_size({name: rows[name] for name in sizes if name != "tokens"}),
            own=own,
            shares=shares,
            n_enc=rows.get("n_enc"),
            n_dec=rows.get("n_dec"),
            tasks=tasks,
            chosen=chosen,
            group=group,
            tokens=_positive(rows.get("tokens"), "tokens"),
            shape=shape,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Points:
    """A query spread over rows and checked.

    Attributes:
      n: Sizes, [rows].
      own: The task's own weight, [rows].
      shares: Weight of every trained task, [rows, tasks]; NaN where unknown.
      n_enc, n_dec: Sizes of either side, [rows]; None where only n was given.
      tasks: Names of the trained tasks.
      chosen: The fitted weighting that was asked for by itself, if any.
      group: The group of runs; empty where none was named.
      tokens: Training tokens of all tasks, [rows]; None where the law's own are meant.
      shape: Shape of the answer.
    """

    n: Array
    own: Array
    shares: Array
    n_enc: Array | None
    n_dec: Array | None
    tasks: tuple[str, ...]
    chosen: Weighting | None
    group: str
    tokens: Array | None
    shape: tuple[int, ...]

    def index_in(self, weightings: tuple[Weighting, ...]) -> NDArray[np.int64]:
        """Index of each row's mixture among the weightings, [rows].

        -1 where it is not among them, -2 where several of them match.
        """
        if self.chosen is not None:
            same = [k for k, one in enumerate(weightings) if one.same(self.chosen)]
            return np.full(len(self.n), same[0] if same else -1)
        counts = np.zeros(len(self.n), dtype=int)
        index = np.full(len(self.n), -1)
        for k, known in enumerate(weightings):
            match = np.abs(known.p - self.own) < _SAME
            if self.group:
                match &= known.group == self.group
            if known.mixture:
                weights = np.array([known.mixture.get(t, 0.0) for t in self.tasks])
                near = (np.abs(self.shares - weights) < _SAME).all(axis=1)
                match &= near | np.isnan(self.shares).any(axis=1)
            index[match] = k
            counts += match
        return np.where(counts > 1, -2, index)


def _only(weightings: tuple[Weighting, ...], task: str) -> Weighting:
    if len(weightings) == 1:
        return weightings[0]
    raise UserError(
        f"the law of {task} covers {len(weightings)} mixtures; name the weight p"
    )


def _check_tasks(
    weights: Mapping[str, object], task: str, tasks: tuple[str, ...]
) -> None:
    unknown = set(weights) - set(tasks) - {task, _OWN}
    if unknown:
        raise UserError(
            f"unknown task {', '.join(sorted(unknown))}; this law knows "
            f"{', '.join(tasks)}"
        )


def _size(sizes: Mapping[str, Array]) -> Array:
    """Size of each row: n, or both sides together."""
    for name, values in sizes.items():
        bad = ~(np.isfinite(values) & (values > 0))
        if bad.any():
            raise UserError(f"{name}: {values[bad][0]:g}; expected a positive number")
    if "n" in sizes:
        return sizes["n"]
    if len(sizes) < 2:
        raise UserError("expected a size: n, or both n_enc and n_dec")
    return sizes["n_enc"] + sizes["n_dec"]


def _positive(values: Array | None, name: str) -> Array | None:
    """The values, if all are above 0; they may be infinite."""
    if values is not None and not (values > 0).all():
        bad = values[~(values > 0)][0]
        raise UserError(f"{name}: {bad:g}; expected a positive number")
    return values


def _weights(
    given: Mapping[str, Array], task: str, tasks: tuple[str, ...]
) -> tuple[Array, Array]:
    """The task's own weight [rows] and every trained task's [rows, tasks]."""
    if _OWN in given:
        own = given[_OWN]
        shares = _completed(own, task, tasks)
    else:
        absent = np.zeros_like(next(iter(given.values())))
        own = given.get(task, absent)
        shares = np.column_stack([given.get(name, absent) for name in tasks])
    outside = ~((own >= 0) & (own <= 1))
    if outside.any():
        raise UserError(f"p: {own[outside][0]:g}; expected a weight in [0, 1]")
    return own, shares


def _completed(own: Array, task: str, tasks: tuple[str, ...]) -> Array:
    """All weights from the task's own, as far as it determines them."""
    shares = np.full((len(own), len(tasks)), np.nan)
    if len(tasks) == 2:
        shares[:] = (1.0 - own)[:, None]
    elif len(tasks) == 1:
        shares[:] = 0.0
    shares[own == 1] = 0.0
    if task in tasks:
        shares[:, tasks.index(task)] = own
    return shares
