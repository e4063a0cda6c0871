"""Learning curves: exact test losses as rows of the metrics table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import Trial, format_mixture
from components.engines.cross_entropy import SentenceLosses, TestSet
from models.nmt.sizes import ParameterCount


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
