"""Intervals of anything that is computed from several laws, by sigma points.

A quantity that is found by solving (the best mixture, a gain over another one) has
no formula to differentiate. It is computed again with the coefficients moved one
standard error both ways along each axis of every law's uncertainty; the halved
differences add up to its variance and the second differences to its bias.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from models.laws.law import Law
from models.laws.solver import Array
from models.laws.uncertainty import t_factor


@dataclasses.dataclass(frozen=True)
class Moved:
    """Laws moved along an axis of their uncertainty.

    Attributes:
      shares: How much of the axis is each law's; they sum to 1.
      up, down: All laws, moved either way.
    """

    shares: Array
    up: tuple[Law, ...]
    down: tuple[Law, ...]


def moved_laws(laws: Sequence[Law]) -> Iterator[Moved]:
    """The laws moved both ways along every axis of their joint covariance."""
    covariance, owner = _joint_covariance(laws)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    for value, vector in zip(values, vectors.T, strict=True):
        if value <= 1e-12:
            continue
        step = unit * vector * value**0.5
        yield Moved(
            shares=np.bincount(owner, vector**2, minlength=len(laws)),
            up=_moved(laws, step, owner),
            down=_moved(laws, -step, owner),
        )


def _joint_covariance(laws: Sequence[Law]) -> tuple[Array, Array]:
    """Covariance of all coefficients, and the law of each of them.

    A law without degrees of freedom has no covariance and stays where it is.
    """
    counts = [len(law.parameters) for law in laws]
    ends = np.cumsum([0, *counts])
    joint = np.zeros((ends[-1], ends[-1]))
    places = [slice(*pair) for pair in itertools.pairwise(ends)]
    for i, first in enumerate(laws):
        for j, second in enumerate(laws):
            if min(first.dof, second.dof) <= 0:
                continue
            if i == j:
                joint[places[i], places[i]] = first.covariance
            elif second.task in first.shared_noise:
                joint[places[i], places[j]] = first.shared_noise[second.task]
    return joint, np.repeat(np.arange(len(laws)), counts)


def _moved(laws: Sequence[Law], step: Array, owner: Array) -> tuple[Law, ...]:
    return tuple(
        _with(law, law.admissible(law.theta + step[owner == k]))
        if step[owner == k].any()
        else law
        for k, law in enumerate(laws)
    )


def _with(law: Law, theta: Array) -> Law:
    parameters = dict(zip(law.parameters, theta.tolist(), strict=True))
    return dataclasses.replace(law, parameters=parameters)


def drawn_laws(laws: Sequence[Law], count: int) -> Iterator[tuple[Law, ...]]:
    """All laws with the coefficients of one of their draws each."""
    for k in range(count):
        places = [k * len(law.draws) // count for law in laws]
        yield tuple(
            _with(law, law.draws[place])
            for law, place in zip(laws, places, strict=True)
        )


def half_width(
    laws: Sequence[Law], differences: Sequence[tuple[Array, Array]], level: float
) -> Array:
    """Half width of a central interval.

    Args:
      laws: The laws the quantity depends on.
      differences: For each axis, each law's share in it and half the difference of
        the quantity, [...].
      level: Nominal coverage.

    Returns:
      [...]; infinite where a law without degrees of freedom is involved. The
      degrees of freedom of the sum are Welch and Satterthwaite's.
    """
    if any(law.dof <= 0 for law in laws):
        return np.full(np.shape(differences[0][1]) if differences else (), np.inf)
    by_law = [
        sum((share[index] * np.square(d) for share, d in differences), np.zeros(()))
        for index in range(len(laws))
    ]
    total = np.asarray(sum(by_law))
    weighted = sum(part**2 / law.dof for part, law in zip(by_law, laws, strict=True))
    smallest = min(law.dof for law in laws)
    dof = np.where(total > 0, total**2 / np.maximum(weighted, 1e-300), smallest)
    factor = np.vectorize(lambda nu: t_factor(level, max(nu, smallest)))(dof)
    return factor * np.sqrt(total)
