"""Intervals of anything that is computed from several laws, by sigma points.

A quantity that is found by solving (the best mixture, a gain over another one) has
no formula to differentiate. It is computed again with the coefficients moved one
standard error both ways along each axis of every law's uncertainty; the halved
differences add up to its variance and the second differences to its bias.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from models.laws.law import Law
from models.laws.solver import Array
from models.laws.uncertainty import t_factor


@dataclasses.dataclass(frozen=True)
class Moved:
    """Laws with one of them moved along an axis of its uncertainty.

    Attributes:
      index: Which law moved.
      up, down: All laws, with that one moved either way.
    """

    index: int
    up: tuple[Law, ...]
    down: tuple[Law, ...]


def moved_laws(laws: Sequence[Law]) -> Iterator[Moved]:
    """Every law moved both ways along every axis of its covariance."""
    for index, law in enumerate(laws):
        if law.dof <= 0:
            continue
        deviation = np.sqrt(np.maximum(np.diag(law.covariance), 0.0))
        unit = np.where(deviation > 0, deviation, 1.0)
        correlation = law.covariance / np.outer(unit, unit)
        values, vectors = np.linalg.eigh(correlation)
        for value, vector in zip(values, vectors.T, strict=True):
            if value <= 1e-12:
                continue
            step = unit * vector * value**0.5
            yield Moved(
                index,
                _replaced(laws, index, law.theta + step),
                _replaced(laws, index, law.theta - step),
            )


def drawn_laws(laws: Sequence[Law], count: int) -> Iterator[tuple[Law, ...]]:
    """All laws with the coefficients of one of their draws each."""
    for k in range(count):
        places = [k * len(law.draws) // count for law in laws]
        yield tuple(
            dataclasses.replace(
                law,
                parameters=dict(
                    zip(law.parameters, law.draws[place].tolist(), strict=True)
                ),
            )
            for law, place in zip(laws, places, strict=True)
        )


def _replaced(laws: Sequence[Law], index: int, theta: Array) -> tuple[Law, ...]:
    law = laws[index]
    kept = law.admissible(theta)
    parameters = dict(zip(law.parameters, kept.tolist(), strict=True))
    moved = dataclasses.replace(law, parameters=parameters)
    return (*laws[:index], moved, *laws[index + 1 :])


def half_width(
    laws: Sequence[Law], differences: Sequence[tuple[int, Array]], level: float
) -> Array:
    """Half width of a central interval.

    Args:
      laws: The laws the quantity depends on.
      differences: For each axis, which law moved and half the difference of the
        quantity, [...].
      level: Nominal coverage.

    Returns:
      [...]; infinite where a law without degrees of freedom is involved. The
      degrees of freedom of the sum are Welch and Satterthwaite's.
    """
    if any(law.dof <= 0 for law in laws):
        return np.full(np.shape(differences[0][1]) if differences else (), np.inf)
    by_law = [
        sum((np.square(d) for k, d in differences if k == index), np.zeros(()))
        for index in range(len(laws))
    ]
    total = np.asarray(sum(by_law))
    weighted = sum(part**2 / law.dof for part, law in zip(by_law, laws, strict=True))
    smallest = min(law.dof for law in laws)
    dof = np.where(total > 0, total**2 / np.maximum(weighted, 1e-300), smallest)
    factor = np.vectorize(lambda nu: t_factor(level, max(nu, smallest)))(dof)
    return factor * np.sqrt(total)
