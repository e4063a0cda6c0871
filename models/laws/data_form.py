"""The law of size, data and mixture as a formula on rows.

``L_i(N, D, w) = E_i + g(x, y)`` with the capacity term
``x = beta (f_i(w) N)^-alpha``, as in equation 11 of Fernandes et al. 2023, and the
data term ``y = beta_data D_i^-alpha_data``, as in Hoffmann et al. 2022. The terms
join as ``g = (x^(1/s) + y^(1/s))^s``: additive for s = 1, Kaplan et al. 2020's
interplay for s = alpha_data. On the shoulder, between what a model can guess from
word frequencies (L0) and the power law, ``L = E + (L0 - E) g / (1 + g)``; the form is
near those of Alabdulmohsin et al. 2022 and Caballero et al. 2023.

Effective data is ``D_i = S(own tokens) + sum_j t_j S(tokens of task j)``. Tokens that
are repeated saturate (Muennighoff et al. 2023, equation 5):
``S(D) = U + U R (1 - exp(-(D / U - 1) / R))`` above the U unique ones.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import numpy as np

from models.laws.capacity import Capacity
from models.laws.solver import Array

Join = Literal["additive", "interplay", "free"]
Transfer = Literal["none", "shared", "each"]
JOINS: tuple[Join, ...] = ("additive", "interplay", "free")
_CORE = ("alpha", "beta", "irreducible_loss", "alpha_data", "beta_data")
_TINY = 1e-9


@dataclasses.dataclass(frozen=True)
class DataRows:
    """What a law of size and data is evaluated on.

    Attributes:
      x: Model sizes over the reference size, [rows].
      p: The task's own weight, [rows].
      shares: Weight of every task, [rows, tasks].
      tokens: Target tokens of every task that training has seen, over the reference
        amount, [rows, tasks]; infinite for the law at endless data.
      unique: Distinct tokens of every task, over the same amount, [rows, tasks];
        infinite where no token was repeated.
      own: Column of the law's task; -1 for one that is only evaluated.
    """

    x: Array
    p: Array
    shares: Array
    tokens: Array
    unique: Array
    own: int

    @functools.cached_property
    def others(self) -> list[int]:
        """Columns of the other tasks."""
        return [k for k in range(self.tokens.shape[1]) if k != self.own]


@dataclasses.dataclass(frozen=True)
class DataForm:
    """The formula on its rows, for `models.laws.solver`.

    Attributes:
      rows: Sizes, weights and tokens.
      capacity: The capacity function f; None for f = 1.
      join: How the two terms join.
      shoulder: Whether losses saturate at L0, and whether it was measured: None for
        a power law, a number for a measured L0 in nats, NaN to fit it.
      transfer: Whether tokens of other tasks count: not at all, each with the same
        coefficient, or with one of its own.
      repetition: Whether repeated tokens saturate.
      largest_loss: Highest measured loss in nats, a lower bound of L0.
    """

    rows: DataRows
    capacity: Capacity | None = None
    join: Join = "additive"
    shoulder: float | None = None
    transfer: Transfer = "none"
    repetition: bool = False
    largest_loss: float = 0.0

    @property
    def _fits_guess(self) -> bool:
        return self.shoulder is not None and np.isnan(self.shoulder)

    @functools.cached_property
    def _transfers(self) -> int:
        counts = {"none": 0, "shared": 1, "each": len(self.rows.others)}
        return counts[self.transfer] if self.rows.others else 0

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        given = [f"transfer[{k}]" for k in range(self._transfers)]
        return (
            *_CORE,
            *(("sharpness",) if self.join == "free" else ()),
            *(("unigram_loss",) if self._fits_guess else ()),
            *(self.capacity.names if self.capacity else ()),
            *given,
            *(("repeats",) if self.repetition else ()),
        )

    @functools.cached_property
    def lower(self) -> Array:
        """Bounds below, [parameters]."""
        return self._bounds(0)

    @functools.cached_property
    def upper(self) -> Array:
        """Bounds above, [parameters]."""
        return self._bounds(1)

    @functools.cached_property
    def _place(self) -> dict[str, int]:
        """Name -> index of a parameter."""
        return {name: k for k, name in enumerate(self.names)}

    def _bounds(self, side: int) -> Array:
        known = {
            "irreducible_loss": (0.0, np.inf),
            "beta": (_TINY, np.inf),
            "alpha": (0.01, 4.0),
            "beta_data": (_TINY, np.inf),
            "alpha_data": (0.01, 4.0),
            "sharpness": (0.02, 4.0),
            "unigram_loss": (self.largest_loss, 4.0 * self.largest_loss),
            "repeats": (0.1, 1e3),
        }
        if self.capacity:
            ends = zip(self.capacity.lower, self.capacity.upper, strict=True)
            known |= dict(zip(self.capacity.names, ends, strict=True))
        return np.array([known.get(n, (0.0, 2.0))[side] for n in self.names])

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Values [batch, rows] and Jacobian [batch, rows, parameters]."""
        place = self._place

        def column(name: str) -> Array:
            return theta[:, [place[name]]]

        log_n, size_slopes = self._log_size(theta, place)
        log_d, data_slopes = self._log_data(theta, place)
        alpha, alpha_data = column("alpha"), column("alpha_data")
        beta, beta_data = column("beta"), column("beta_data")
        log_x = np.log(np.maximum(beta, _TINY)) - alpha * log_n
        log_y = np.log(np.maximum(beta_data, _TINY)) - alpha_data * log_d
        s = {"additive": np.ones_like(alpha), "interplay": alpha_data}.get(self.join)
        s = column("sharpness") if s is None else s
        log_g, share, entropy = _joined(log_x, log_y, s)
        # d log g / d parameter, then the chain to the loss.
        slopes = np.zeros((*log_g.shape, len(self.names)))
        slopes[:, :, place["beta"]] = share / np.maximum(beta, _TINY)
        slopes[:, :, place["alpha"]] = -share * log_n
        slopes[:, :, place["beta_data"]] = (1.0 - share) / np.maximum(beta_data, _TINY)
        slopes[:, :, place["alpha_data"]] = np.where(
            share < 1.0, -(1.0 - share) * np.where(share < 1.0, log_d, 0.0), 0.0
        )
        if self.join == "interplay":
            slopes[:, :, place["alpha_data"]] += entropy
        if self.join == "free":
            slopes[:, :, place["sharpness"]] = entropy
        for name, slope in size_slopes.items():
            slopes[:, :, place[name]] = -alpha * share * slope
        for name, slope in data_slopes.items():
            slopes[:, :, place[name]] = -alpha_data * (1.0 - share) * slope
        return self._loss(theta, place, log_g, slopes)

    def _loss(
        self, theta: Array, place: dict[str, int], log_g: Array, slopes: Array
    ) -> tuple[Array, Array]:
        floor = theta[:, [place["irreducible_loss"]]]
        if self.shoulder is None:
            g = np.exp(np.minimum(log_g, 50.0))
            slopes *= g[:, :, None]
            slopes[:, :, place["irreducible_loss"]] = 1.0
            return floor + g, slopes
        top = (
            theta[:, [place["unigram_loss"]]]
            if self._fits_guess
            else np.full_like(floor, self.shoulder)
        )
        part = 1.0 / (1.0 + np.exp(-np.clip(log_g, -500.0, 500.0)))
        slopes *= ((top - floor) * part * (1.0 - part))[:, :, None]
        slopes[:, :, place["irreducible_loss"]] = 1.0 - part
        if self._fits_guess:
            slopes[:, :, place["unigram_loss"]] = part
        return floor + (top - floor) * part, slopes

    def _log_size(
        self, theta: Array, place: dict[str, int]
    ) -> tuple[Array, dict[str, Array]]:
        """log(f N) [batch, rows] and its derivatives by f's coefficients."""
        log_x = np.broadcast_to(np.log(self.rows.x), (len(theta), len(self.rows.x)))
        if self.capacity is None:
            return log_x, {}
        columns = [place[name] for name in self.capacity.names]
        f, slopes = self.capacity.evaluate(
            theta[:, columns], self.rows.p, self.rows.shares
        )
        relative = slopes / f[:, :, None]
        found = {n: relative[:, :, k] for k, n in enumerate(self.capacity.names)}
        return log_x + np.log(f), found

    def _log_data(
        self, theta: Array, place: dict[str, int]
    ) -> tuple[Array, dict[str, Array]]:
        """log D of effective data [batch, rows] and its derivatives."""
        rows = self.rows
        seen, seen_slope = self._saturated(theta, place)
        own = seen[:, :, rows.own] if rows.own >= 0 else np.zeros(seen.shape[:2])
        weights = np.zeros((len(theta), 1, seen.shape[2]))
        if rows.own >= 0:
            weights[:, 0, rows.own] = 1.0
        effective, slopes = own, {}
        if self._transfers:
            first = place["transfer[0]"]
            factors = theta[:, first : first + self._transfers]
            others = seen[:, :, rows.others]
            weights[:, 0, rows.others] = factors
            with np.errstate(invalid="ignore"):
                effective = own + np.nan_to_num(
                    (others * weights[:, :, rows.others]), nan=0.0
                ).sum(2)
            parts = others if self.transfer == "each" else others.sum(2, keepdims=True)
            with np.errstate(invalid="ignore"):
                relative = np.nan_to_num(parts / effective[:, :, None], nan=0.0)
            for k in range(self._transfers):
                slopes[f"transfer[{k}]"] = relative[:, :, k]
        if self.repetition:
            with np.errstate(invalid="ignore"):
                change = (seen_slope * weights).sum(2) / effective
            slopes["repeats"] = np.nan_to_num(change, nan=0.0)
        return np.log(np.maximum(effective, 1e-12)), slopes

    def _saturated(self, theta: Array, place: dict[str, int]) -> tuple[Array, Array]:
        """S(tokens) [batch, rows, tasks] and its derivative by ``repeats``."""
        tokens, unique = self.rows.tokens[None], self.rows.unique[None]
        whole = np.broadcast_to(tokens, (len(theta), *self.rows.tokens.shape))
        if not self.repetition:
            return whole, np.zeros_like(whole)
        scale = theta[:, place["repeats"]][:, None, None]
        repeated = np.isfinite(unique) & (tokens > unique)
        finite = np.where(repeated, unique, 1.0)
        times = np.where(repeated, tokens, 1.0) / finite - 1.0
        with np.errstate(invalid="ignore", over="ignore"):
            ratio = times / scale
            fading = np.exp(-ratio)
            slope = np.where(np.isfinite(ratio), ratio, 0.0) * fading
        value = finite * (1.0 + scale * (1.0 - fading))
        change = finite * (1.0 - fading - slope)
        return np.where(repeated, value, whole), np.where(repeated, change, 0.0)


def _joined(log_x: Array, log_y: Array, s: Array) -> tuple[Array, Array, Array]:
    """log g, the share of x in it, and d log g / ds, all [batch, rows]."""
    difference = np.clip((log_x - log_y) / s, -700.0, 700.0)
    share = 1.0 / (1.0 + np.exp(-difference))
    log_g = np.where(
        difference > 0,
        log_x + s * np.log1p(np.exp(-np.abs(difference))),
        log_y + s * np.log1p(np.exp(-np.abs(difference))),
    )
    rest = 1.0 - share
    entropy = -share * np.log(np.maximum(share, 1e-300)) - rest * np.log(
        np.maximum(rest, 1e-300)
    )
    return log_g, share, entropy
