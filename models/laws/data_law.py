"""The law of size, data and mixture; its formula is in `models.laws.data_form`."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from models.errors import UserError
from models.laws.capacity import Capacity
from models.laws.data_form import DataForm, DataRows, Join, Transfer
from models.laws.law import Law
from models.laws.observations import Observations, Weighting
from models.laws.query import Points
from models.laws.solver import Array


@dataclasses.dataclass(frozen=True)
class DataSpec:
    """Which parts the law has.

    Attributes:
      join: How the terms of size and data join.
      shoulder: Whether losses saturate at that of a model that knows only word
        frequencies.
      capacity: Name of the capacity function f.
      transfer: Whether tokens of other tasks count.
      repetition: Whether repeated tokens saturate.
      evidence: Share of a run's steps from which its curve is fitted. Under a constant
        or inverse-square-root learning rate every later point is a model trained that
        long; with a decay to zero only the end is (1.0).
    """

    join: Join = "interplay"
    shoulder: bool = False
    capacity: str = "flexible"
    transfer: Transfer = "none"
    repetition: bool = False
    evidence: float = 0.5

    def __str__(self) -> str:
        parts = [self.join, f"{self.capacity} capacity"]
        parts += ["shoulder"] if self.shoulder else []
        parts += ["data transfer"] if self.transfer != "none" else []
        parts += ["repetition"] if self.repetition else []
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True, eq=False)
class DataLaw(Law):
    """The law of size, data and mixture of one task.

    A query without ``tokens`` is answered at the length that the fitted runs were
    trained for, ``reference["trained_tokens"]``; infinite tokens give the law at
    endless data, equation 11 of Fernandes et al. 2023.

    Attributes:
      spec: Which parts it has.
      capacity: The capacity function f.
      run_sd: Standard deviation between runs, as a share of the loss.
      point_sd: Standard deviation of one point around its run's curve, likewise.
    """

    kind: ClassVar[str] = "data"
    any_mixture: ClassVar[bool] = True
    knows_tokens: ClassVar[bool] = True

    spec: DataSpec = dataclasses.field(kw_only=True)
    capacity: Capacity = dataclasses.field(kw_only=True)
    run_sd: float = dataclasses.field(kw_only=True)
    point_sd: float = dataclasses.field(kw_only=True)

    @property
    def form(self) -> str:
        """Its parts, in words."""
        return str(self.spec)

    @property
    def equation(self) -> str:
        """See `Law`."""
        terms = "x = beta (f n/n0)^-alpha, y = beta_data (D/D0)^-alpha_data"
        joined = {
            "additive": "x + y",
            "interplay": "(x^(1/alpha_data) + y^(1/alpha_data))^alpha_data",
            "free": "(x^(1/sharpness) + y^(1/sharpness))^sharpness",
        }[self.spec.join]
        shown = f"Linf + {joined}"
        if self.spec.shoulder:
            shown = f"Linf + (L0 - Linf) u / (1 + u), u = {joined}"
        return f"L = {shown}; {terms}; {self.capacity.equation}"

    def covers(self, weighting: Weighting) -> bool:
        """See `Law`; any mixture of its group."""
        return weighting.group in self.groups

    def _form(self, points: Points) -> DataForm:
        total = points.tokens
        if total is None:
            total = np.full(len(points.n), self.reference["trained_tokens"])
        rates = np.array([self.reference.get(f"rate[{t}]", 1.0) for t in self.tasks])
        if np.isnan(points.shares).any():
            raise UserError(
                f"{self.name}: needs the weight of every task, not its own alone; "
                f"name {', '.join(self.tasks)}"
            )
        with np.errstate(invalid="ignore"):
            tokens = np.nan_to_num(points.shares * total[:, None] * rates, nan=0.0)
        tokens = np.where(
            np.isinf(total)[:, None] & (points.shares > 0), np.inf, tokens
        )
        unique = np.array(
            [self.reference.get(f"unique[{t}]", np.inf) for t in self.tasks]
        )
        scale = self.reference["tokens"]
        rows = DataRows(
            points.n / self.reference["n"],
            points.own,
            points.shares,
            tokens / scale,
            np.broadcast_to(unique / scale, tokens.shape),
            own_column(self.task, self.tasks),
        )
        largest = self.parameters.get("unigram_loss", 0.0)
        shoulder = self.reference.get("unigram_loss")
        if self.spec.shoulder and shoulder is None:
            shoulder = math.nan
        return form_of(self.spec, self.capacity, rows, shoulder, largest)

    def _log_fraction(self, points: Points) -> tuple[Array, Array]:
        names = list(self.parameters)
        columns = [names.index(name) for name in self.capacity.names]
        f, slopes = self.capacity.evaluate(
            self.theta[None, columns], points.own, points.shares
        )
        jacobian = np.zeros((len(points.own), len(names)))
        jacobian[:, columns] = slopes[0] / f[0][:, None]
        return np.log(f[0]), jacobian


def own_column(task: str, tasks: tuple[str, ...]) -> int:
    """A task's column among the trained tasks; -1 for one that is only evaluated."""
    return tasks.index(task) if task in tasks else -1


def form_of(
    spec: DataSpec,
    function: Capacity,
    rows: DataRows,
    unigram_loss: float | None,
    largest: float,
) -> DataForm:
    """The formula with the parts of ``spec`` on some rows.

    Args:
      spec: Which parts.
      function: The capacity function.
      rows: Sizes, weights and tokens.
      unigram_loss: L0 in nats; NaN to fit it.
      largest: Highest measured loss.
    """
    return DataForm(
        rows,
        function,
        spec.join,
        unigram_loss if spec.shoulder else None,
        spec.transfer,
        spec.repetition,
        largest,
    )


def predict_rows(law: DataLaw, rows: Observations) -> Array:
    """The law's value at rows with their own tokens, [rows].

    Args:
      law: A fitted law.
      rows: Rows with ``tokens``; the tokens of each task are taken as they are.
    """
    points = Points(
        n=rows.n,
        own=rows.p,
        shares=rows.shares,
        n_enc=None,
        n_dec=None,
        tasks=rows.tasks,
        chosen=None,
        group="",
        tokens=None,
        shape=rows.n.shape,
    )
    bound = law._form(points)
    tokens = rows.tokens / law.reference["tokens"]
    bound = dataclasses.replace(
        bound, rows=dataclasses.replace(bound.rows, tokens=tokens)
    )
    return bound.evaluate(law.theta[None])[0][0]
