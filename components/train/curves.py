"""Learning curves: when a trial is evaluated, rows of the table, final losses."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import Trial, format_mixture
from components.artifacts.trial_folder import LossAtStep
from components.train.config import Config
from models.nmt.sizes import ParameterCount

if TYPE_CHECKING:
    from components.engines.cross_entropy import SentenceLosses, TestSet

FINAL_SHARE = 0.1


def evaluation_steps(config: Config, steps: int) -> tuple[int, ...]:
    """Steps after which the test loss is measured, increasing, the last is ``steps``.

    Half-octaves back from the end, so that the movement over the last doubling is
    measured and not interpolated, and ``final_evaluations`` steps spread over the
    last tenth, over which the final loss is the median (Ghorbani et al. 2021,
    section 2.1).
    """
    call = config.steps_per_execution

    def rounded(step: float) -> int:
        return max(call, round(step / call) * call)

    octaves = {
        rounded(steps * 2 ** (-index / 2)) for index in range(config.evaluations)
    }
    count = config.final_evaluations
    first = steps * (1 - FINAL_SHARE)
    final = {
        min(steps, math.ceil((first + (steps - first) * index / count) / call) * call)
        for index in range(1, count + 1)
    }
    return tuple(sorted(octaves | final | {steps}))


def is_final(step: int, steps: int) -> bool:
    """Whether a step lies in the last tenth of training."""
    return step > steps * (1 - FINAL_SHARE)


def curve_rows(
    trial: Trial,
    index: int,
    parameters: ParameterCount,
    step: int,
    test_sets: Sequence[TestSet],
    losses: Sequence[SentenceLosses],
    seen: Mapping[str, tuple[int, int]],
) -> list[MetricsRow]:
    """One row a test set, and one for each half of it by original language.

    Args:
      trial: The trial.
      index: Its place in the stack.
      parameters: Counts of its model.
      step: Steps done.
      test_sets, losses: What was measured, in the same order.
      seen: Task -> training examples and target tokens of it seen so far.
    """
    rows = []
    for test_set, measured in zip(test_sets, losses, strict=True):
        examples, tokens = seen[test_set.task]
        for origin, own in test_set.parts().items():
            part = measured.take(own)
            row = _row(trial, parameters, step, test_set, origin)
            rows.append(
                dataclasses.replace(
                    row,
                    examples_seen=examples,
                    tokens_seen=tokens,
                    loss=float(part.loss[index]),
                    token_count=int(part.tokens.sum()),
                    sentence_count=len(part.tokens),
                )
            )
    return rows


def failed_rows(
    trial: Trial, parameters: ParameterCount, step: int, test_sets: Sequence[TestSet]
) -> list[MetricsRow]:
    """Final rows without a loss: a table says of a failed trial that it failed.

    Args:
      trial: The trial.
      parameters: Counts of its model.
      step: Steps done.
      test_sets: What it would have been measured on.
    """
    return [
        dataclasses.replace(
            _row(trial, parameters, step, test_set, origin), loss_kind="final"
        )
        for test_set in test_sets
        for origin in test_set.parts()
    ]


def _row(
    trial: Trial, parameters: ParameterCount, step: int, test_set: TestSet, origin: str
) -> MetricsRow:
    """A row of the learning curve on which nothing is measured yet."""
    return MetricsRow(
        trial=trial.id,
        cohort=trial.cohort,
        size=trial.size,
        seed=trial.seed,
        task=test_set.task,
        p=trial.weight(test_set.task),
        mixture=format_mixture(dict(trial.mixture)),
        test_set=test_set.name,
        origin=origin,
        n=parameters.n,
        n_enc=parameters.n_enc,
        n_dec=parameters.n_dec,
        n_embedding=parameters.n_embedding,
        step=step,
        loss=None,
        loss_kind="curve",
    )


def final_losses(curve: Sequence[MetricsRow], steps: int) -> dict[str, float]:
    """``final/<task>/<test set>`` -> median over the last tenth of training."""
    found: dict[str, list[float]] = {}
    for name, one in _whole_test_sets(curve):
        if is_final(one.step, steps):
            found.setdefault(f"final/{name}", []).append(one.loss)
    return {name: statistics.median(losses) for name, losses in found.items()}


def best_losses(curve: Sequence[MetricsRow]) -> dict[str, LossAtStep]:
    """``<task>/<test set>`` -> the lowest loss so far, and the step it was at."""
    found: dict[str, LossAtStep] = {}
    for name, one in _whole_test_sets(curve):
        if name not in found or one.loss < found[name].loss:
            found[name] = one
    return found


def _whole_test_sets(curve: Sequence[MetricsRow]) -> Iterator[tuple[str, LossAtStep]]:
    """``<task>/<test set>`` with step and loss of every evaluation.

    The first row of a test set is all of it, the next ones are parts.
    """
    seen: set[tuple[int | None, str]] = set()
    for row in curve:
        name = f"{row.task}/{row.test_set}"
        if (row.step, name) not in seen and row.step is not None:
            seen.add((row.step, name))
            if row.loss is not None:
                yield name, LossAtStep(row.step, row.loss)
