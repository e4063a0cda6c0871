"""The grid of trials of a sweep: every size x every mixture x every seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.artifacts.trial import Trial, check_mixture
from models.errors import UserError, suggestion

Mixture = tuple[tuple[str, float], ...]


def mixture(value: float | Mapping[str, float], tasks: Sequence[str]) -> Mixture:
    """A mixture as an experiment file writes it -> a weight for each task.

    With two tasks a single number is the weight of the first; a task that a mapping
    leaves out has weight 0::

        mixture(0.3, ("en-de", "en-fr"))          == (("en-de", 0.3), ("en-fr", 0.7))
        mixture({"en-fr": 1}, ("en-de", "en-fr")) == (("en-de", 0.0), ("en-fr", 1.0))

    Raises:
      UserError: An unknown task, or weights that are no probabilities.
    """
    weights = _weights(value, tasks)
    check_mixture(weights)
    return tuple((task, float(weights[task])) for task in tasks)


def trials(
    *,
    cohort: str,
    tasks: Sequence[str],
    sizes: Sequence[str],
    mixtures: Sequence[float | Mapping[str, float]],
    seeds: Sequence[int],
) -> tuple[Trial, ...]:
    """Every trial of a sweep, the smallest sizes first as the file lists them."""
    weights = [mixture(value, tasks) for value in mixtures]
    return tuple(
        Trial(cohort, size, weighting, seed)
        for size in sizes
        for weighting in weights
        for seed in seeds
    )


def _weights(
    value: float | Mapping[str, float], tasks: Sequence[str]
) -> dict[str, float]:
    if isinstance(value, Mapping):
        for task in value:
            if task not in tasks:
                known = ", ".join(tasks)
                hint = suggestion(task, tasks)
                raise UserError(f"{task} is not one of the tasks ({known}){hint}")
        return {task: value.get(task, 0.0) for task in tasks}
    if len(tasks) == 1:
        return {tasks[0]: value}
    if len(tasks) == 2:
        # Rounded so that 1 - 0.9 is 0.1 in every table and name.
        return {tasks[0]: value, tasks[1]: round(1 - value, 12)}
    example = ", ".join(f"{task}: {1 / len(tasks):.2g}" for task in tasks)
    raise UserError(
        f"a single number is the weight of the first of two tasks; with "
        f"{len(tasks)} tasks write {{{example}}}"
    )
