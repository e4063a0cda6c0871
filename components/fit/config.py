"""How laws are fitted to a table of runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

from models.errors import FieldError, UserError
from models.nmt import families

LawKind = Literal["individual", "joint", "approximate", "data", "bivariate"]


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """What is trained and evaluated but never shown to the fit.

    Attributes:
      sizes: Names of sizes, as in the table's ``size`` column, or of a family.
      mixtures: Mixtures; a number is the weight of the first of two tasks.
    """

    sizes: tuple[str, ...] = ()
    mixtures: tuple[float | Mapping[str, float], ...] = ()

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "sizes", families.expand(self.sizes))
        except UserError as error:
            raise FieldError("sizes", str(error)) from None
        for mixture in self.mixtures:
            for weight in _weights(mixture):
                if not 0 <= weight <= 1:
                    raise FieldError("mixtures", f"weight {weight:g}: expected 0 to 1")


@dataclasses.dataclass(frozen=True)
class Convergence:
    """Correction of runs that saw too little of a task, [M] App. G.

    Attributes:
      horizon: Value of the learning curve that replaces the last one, as a multiple
        of the last step; 1 for no correction. ([M]: 2.5M of 500k steps.)
      max_p: Largest weight of a task whose runs are corrected.
    """

    horizon: float = 5.0
    max_p: float = 0.05

    def __post_init__(self) -> None:
        if not self.horizon >= 1:
            raise FieldError("horizon", f"{self.horizon:g}; expected 1 or more")
        if not 0 <= self.max_p <= 1:
            raise FieldError("max_p", f"{self.max_p:g}; expected 0 to 1")


@dataclasses.dataclass(frozen=True)
class Config:
    """The ``fit`` section of an experiment file.

    Attributes:
      laws: Kinds of law to fit; ``data`` needs the tokens that each run had seen, and
        takes its learning curve.
      capacity: Capacity function of the approximate law: ``flexible`` ([M] eq. 12),
        ``linear`` (eq. 13), ``transfer`` (what other tasks give), the same with
        ``+repetition`` (a task with little data), or ``auto``: what predicts unseen
        mixtures best.
      metric: Column that is fitted: ``loss``, or a rising metric (``bleu``, ``chrf``,
        ``bleurt``, ``comet``), whose distance to its ceiling is.
      test_sets: Test sets to fit on; all of them when empty.
      convergence: Which learning curves are extrapolated, and how far.
      draws: Draws of the coefficients of the approximate laws, from which weights are
        chosen.
      uncertainty: ``t`` for calibrated draws, ``perturbation`` for those of [M]
        fn. 5 (1 % Gaussian noise on every point).
      robust_scale: Where soft_l1 turns from squares to absolute values, in units of
        the metric; 1 % of the median value when not set.
      fixed: Coefficients that are given, name -> value.
      columns: Our names of columns -> the table's names, ``n=params,loss=val_loss``.
      by: Columns that set runs apart beside their mixture, such as the size of the
        data: each of their values has its own laws. When empty, several cohorts of a
        task, or a column that tells apart what would otherwise be the same run, are
        found and named; ``none`` pools them.
      choose_sharing: Back-test how much the weightings share, and fit that too where
        it is less than [M] eq. 7 says.
      single_size: Accept a table with too few sizes for an exponent: the approximate
        law then describes the weights alone.
      held_out: What is never shown to the fit.
      seed: Of the draws.
    """

    laws: tuple[LawKind, ...] = ("individual", "joint", "approximate", "data")
    capacity: Literal[
        "auto", "flexible", "linear", "transfer", "transfer+repetition"
    ] = "auto"
    metric: Literal["loss", "bleu", "chrf", "bleurt", "comet"] = "loss"
    test_sets: tuple[str, ...] = ()
    convergence: Convergence = Convergence()
    draws: int = 200
    uncertainty: Literal["t", "perturbation"] = "t"
    robust_scale: float | None = None
    fixed: Mapping[str, float] = dataclasses.field(default_factory=dict)
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    by: tuple[str, ...] = ()
    choose_sharing: bool = True
    single_size: bool = False
    held_out: HeldOut = HeldOut()
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.laws:
            raise FieldError("laws", "empty; expected at least one kind of law")
        if self.seed < 0:
            raise FieldError("seed", f"{self.seed}; expected 0 or more")
        for name, value in self.fixed.items():
            if not math.isfinite(value):
                raise FieldError(f"fixed.{name}", f"{value:g}; expected a number")
        if self.draws < 0:
            raise FieldError("draws", f"{self.draws}; expected 0 or more")
        if self.robust_scale is not None and not self.robust_scale > 0:
            raise FieldError(
                "robust_scale", f"{self.robust_scale:g}; expected more than 0"
            )


def _weights(mixture: float | Mapping[str, float]) -> list[float]:
    return list(mixture.values()) if isinstance(mixture, Mapping) else [mixture]
