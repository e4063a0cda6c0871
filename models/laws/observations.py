"""The runs that laws are fitted on, as arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.errors import UserError
from models.laws.solver import Array


@dataclasses.dataclass(frozen=True)
class Weighting:
    """One mixture, as a task's law sees it.

    Attributes:
      label: Short name, unique within a law: ``0.3``, or the whole mixture where
        the task's own weight would not be unique.
      p: The task's own sampling probability; 0 for a task that is only evaluated.
      mixture: Weight of every task with a positive weight; empty when unknown.
      group: What else sets its runs apart, as ``arch=B``; mostly empty.
    """

    label: str
    p: float
    mixture: Mapping[str, float]
    group: str = ""

    def same(self, other: Weighting) -> bool:
        """Whether both stand for the same runs, whatever their labels."""
        mine = (self.p, dict(self.mixture), self.group)
        return mine == (other.p, dict(other.mixture), other.group)


@dataclasses.dataclass(frozen=True)
class Observations:
    """One measured value a row.

    Attributes:
      task, test_set, trial, size: Names, [rows].
      n: Non-embedding parameters, [rows].
      p: The task's own sampling probability, [rows].
      value: The measured loss or metric, [rows].
      seed: Seed of the run, [rows].
      tasks: Names of the tasks that are trained on.
      shares: Sampling probability of each of ``tasks``, [rows, tasks]; NaN where
        the rest of a mixture is not known.
      n_enc, n_dec: Parameters of either side, [rows]; NaN where not known.
      group: What else sets runs apart, a text, [rows]; mostly empty.
      metric: What was measured; ``loss`` is in nats per target token.
      tokens: Target tokens of each of ``tasks`` that the run had seen, [rows, tasks];
        NaN where not known.
      step: Training step of the measurement, [rows]; NaN where not known.
    """

    task: NDArray[np.str_]
    test_set: NDArray[np.str_]
    trial: NDArray[np.str_]
    size: NDArray[np.str_]
    n: Array
    p: Array
    value: Array
    seed: NDArray[np.int64]
    tasks: tuple[str, ...]
    shares: Array
    n_enc: Array
    n_dec: Array
    group: NDArray[np.str_]
    tokens: Array
    step: Array
    metric: str = "loss"

    def __len__(self) -> int:
        return len(self.n)

    def take(self, which: NDArray) -> Observations:
        """The rows that a mask or an index selects."""
        changed = {
            field.name: getattr(self, field.name)[which]
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, **changed)

    def by_task(self) -> Iterator[tuple[str, str, Observations]]:
        """Each (task, test set) with its rows, in the order of ``tasks``."""
        keys = dict.fromkeys(
            zip(self.task.tolist(), self.test_set.tolist(), strict=True)
        )
        place = {task: k for k, task in enumerate(self.tasks)}
        for task, test_set in sorted(keys, key=lambda k: place.get(k[0], len(place))):
            yield (
                task,
                test_set,
                self.take((self.task == task) & (self.test_set == test_set)),
            )

    def by_group(self) -> list[Observations]:
        """The rows of each group of runs, as `group` sets them apart."""
        groups = np.unique(self.group)
        if len(groups) == 1:
            return [self]
        return [self.take(self.group == group) for group in groups]

    def by_weighting(self) -> list[Observations]:
        """The rows of each of `weightings`."""
        weightings, index = self.weightings
        return [self.take(index == k) for k in range(len(weightings))]

    @functools.cached_property
    def weightings(self) -> tuple[tuple[Weighting, ...], NDArray[np.int64]]:
        """The distinct mixtures of these rows, by p, and each row's index."""
        groups, group_of = np.unique(self.group, return_inverse=True)
        shares = np.nan_to_num(self.shares, nan=-1.0)
        keys = np.column_stack([self.p, shares, group_of.ravel()])
        distinct, index = keys[:1].round(9), np.zeros(len(keys), dtype=np.int64)
        if not (keys == keys[0]).all():
            distinct, index = np.unique(keys.round(9), axis=0, return_inverse=True)
        own = distinct[:, 0].tolist()
        one_each = len(set(own)) * len(groups) >= len(own)
        found = []
        for p, *row, which in distinct.tolist():
            mixture = {t: w for t, w in zip(self.tasks, row, strict=True) if w > 0}
            known = mixture if min(row, default=-1.0) >= 0 else {}
            text = ",".join(f"{task}={weight:g}" for task, weight in known.items())
            label = f"{p:g}" if one_each or not text else text
            group = str(groups[int(which)])
            label = f"{label};{group}" if group else label
            found.append(Weighting(label, p, known, group))
        return tuple(found), index.ravel()


def observations(
    *,
    task: Sequence[str],
    n: ArrayLike,
    p: ArrayLike,
    value: ArrayLike,
    mixture: Sequence[Mapping[str, float] | None] | None = None,
    test_set: Sequence[str] | None = None,
    trial: Sequence[str] | None = None,
    size: Sequence[str] | None = None,
    seed: ArrayLike | None = None,
    n_enc: ArrayLike | None = None,
    n_dec: ArrayLike | None = None,
    group: Sequence[str] | None = None,
    tokens: Sequence[Mapping[str, float] | None] | None = None,
    step: ArrayLike | None = None,
    metric: str = "loss",
) -> Observations:
    """Observations from columns, with a default for everything but the first four.

    Args:
      task, n, p, value: See `Observations`; so for the others.
      mixture, tokens: A mapping from task to number a row; ``None`` where a mixture
        is to be derived: with two tasks the other one has the rest.
      test_set, trial, size, seed: ``in_domain``, row numbers, ``n`` in short and 0
        when omitted.
      n_enc, n_dec, step, group: Unknown when omitted.
      metric: What ``value`` is.

    Returns:
      The rows, in the given order.

    Raises:
      UserError: A column has another length than the rest, or there is no row.
    """
    rows = len(task)
    if not rows:
        raise UserError("no runs: the table has no row that a law can be fitted on")
    sizes, own = np.asarray(n, float), np.asarray(p, float)
    tasks, shares = _shares(list(task), own, list(mixture or [None] * rows))
    numbers = {"n_enc": n_enc, "n_dec": n_dec, "step": step}
    names = {"test_set": (test_set, "in_domain"), "group": (group, "")}
    columns = {
        "task": np.asarray(task, dtype=str),
        "trial": np.asarray(trial or [f"row{k + 1}" for k in range(rows)], dtype=str),
        "size": np.asarray(size or [f"{v:.4g}" for v in sizes], dtype=str),
        "n": sizes,
        "p": own,
        "value": np.asarray(value, float),
        "seed": np.asarray(np.zeros(rows) if seed is None else seed).astype(np.int64),
    }
    for name, numeric in numbers.items():
        known = np.full(rows, np.nan) if numeric is None else numeric
        columns[name] = np.asarray(known, float)
    for name, (text, default) in names.items():
        columns[name] = np.asarray(text or [default] * rows, dtype=str)
    _check_lengths(columns, rows)
    columns["tokens"] = _tokens(tokens or [None] * rows, tasks)
    return Observations(tasks=tasks, shares=shares, metric=metric, **columns)


def _tokens(
    tokens: Sequence[Mapping[str, float] | None], tasks: tuple[str, ...]
) -> Array:
    """Tokens of every task, [rows, tasks]; NaN where not known."""
    return np.array([[(one or {}).get(t, np.nan) for t in tasks] for one in tokens])


def _check_lengths(columns: Mapping[str, NDArray], rows: int) -> None:
    for name, column in columns.items():
        if column.shape != (rows,):
            raise UserError(
                f"column {name}: shape {column.shape} for {rows} rows; every column "
                "needs one value a row"
            )


def _shares(
    task: list[str], p: Array, mixture: list[Mapping[str, float] | None]
) -> tuple[tuple[str, ...], Array]:
    """Names of the trained tasks and their weights in every row."""
    named = dict.fromkeys(name for one in mixture if one for name in one)
    if any(one is None for one in mixture):
        named |= dict.fromkeys(task)
    tasks = tuple(named)
    shares = np.full((len(task), len(tasks)), np.nan)
    for row, one in enumerate(mixture):
        if one is not None:
            shares[row] = [one.get(name, 0.0) for name in tasks]
            continue
        own = tasks.index(task[row])
        if len(tasks) == 2:
            shares[row] = 1.0 - p[row]
        elif p[row] == 1:
            shares[row] = 0.0
        shares[row, own] = p[row]
    return tasks, shares
