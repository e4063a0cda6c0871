"""Are two trials different? Paired bootstrap over the sentences of a test set.

Resampling the sentences of both trials together (Koehn 2004) takes out what makes a
sentence easy or hard for all of them, so that differences far smaller than the spread
of a loss over sentences can be told from chance. It says nothing about the chance in
training: for that, compare seeds.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.artifacts.origins import parts_by_origin
from components.evaluate import sentence_losses
from components.evaluate.quality_record import QualityRecord
from components.evaluate.sentence_losses import TestSetLosses
from components.evaluate.translation import (
    Translation,
    load_sentences,
    translation_path,
)
from models.errors import UserError

_BATCH = 200  # resamples in memory at a time
_SENTENCE_METRICS = ("bleurt", "comet")


@dataclasses.dataclass(frozen=True)
class Difference:
    """A trial against the baseline on one part of one test set.

    Attributes:
      task, test_set, origin: Where.
      metric: ``loss`` or a metric of quality.
      baseline, trial: Names.
      baseline_value, value: Their scores.
      low, high: 95 % interval of ``value - baseline_value``; ``None`` where the test
        gives none.
      p_value: How likely a difference at least as large is by the choice of
        sentences alone.
      signature: What the test was made with.
    """

    task: str
    test_set: str
    origin: str
    metric: str
    baseline: str
    trial: str
    baseline_value: float
    value: float
    low: float | None
    high: float | None
    p_value: float
    signature: str

    @property
    def difference(self) -> float:
        """``value - baseline_value``."""
        return self.value - self.baseline_value


def compare(
    evaluated: Path,
    trials: Sequence[str],
    *,
    task: str | None = None,
    test_set: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Difference]:
    """Compares trials with the first of them.

    Args:
      evaluated: An artifact of ``evaluate``.
      trials: Two or more, the baseline first.
      task, test_set: Only these, where given.
      resamples: Of the sentences.
      seed: Of the resamples.

    Raises:
      UserError: A trial has no sentence losses here, or nothing is left to compare.
    """
    losses = {name: sentence_losses.load(evaluated, name) for name in trials}
    if len(losses) < 2:
        raise UserError("compare: expected two trials or more, the baseline first")
    labels = [
        label
        for label in losses[trials[0]]
        if task in (None, label.partition("/")[0])
        and test_set in (None, label.partition("/")[2])
    ]
    if not labels:
        known = ", ".join(losses[trials[0]])
        wanted = " ".join(name for name in (task, test_set) if name)
        raise UserError(f"compare: no losses of {wanted}; there are {known}")
    found = []
    for label in labels:
        found += _compare_losses(label, losses, resamples, seed)
        found += _compare_quality(evaluated, label, trials, resamples, seed)
    return found


def paired_bootstrap(
    sums: np.ndarray, weights: np.ndarray, *, resamples: int, seed: int
) -> tuple[float, float, float]:
    """Interval and p-value of a difference of two weighted means.

    Args:
      sums: Difference of the two systems on each sentence, float ``[sentences]``.
      weights: What the sums are divided by in total, ``[sentences]``: tokens, or 1.
      resamples: How often the sentences are drawn anew, with replacement.
      seed: Of the draws.

    Returns:
      The 2.5 % and 97.5 % points of the difference, and twice the share of resamples
      on the other side of 0 than most (the observed sample counts as one of them).
    """
    rng = np.random.default_rng(seed)
    count = len(sums)
    drawn = []
    for first in range(0, resamples, _BATCH):
        size = (min(_BATCH, resamples - first), count)
        chosen = rng.integers(0, count, size)
        drawn.append(sums[chosen].sum(axis=1) / weights[chosen].sum(axis=1))
    found = np.concatenate(drawn)
    low, high = np.quantile(found, (0.025, 0.975))
    smaller = min((found <= 0).sum(), (found >= 0).sum())
    p_value = min(1.0, 2 * (smaller + 1) / (resamples + 1))
    return float(low), float(high), float(p_value)


def table(found: Sequence[Difference]) -> str:
    """Differences as lines of text, a block for each trial and test set."""
    lines: list[str] = []
    for first, block in itertools.groupby(
        found, key=lambda d: (d.trial, d.task, d.test_set)
    ):
        rows = list(block)
        lines += ["", f"{first[0]} against {rows[0].baseline}, {first[1]} {first[2]}:"]
        lines.append(
            "  original  metric   baseline     trial  difference        95 % interval"
            "       p"
        )
        for one in rows:
            interval = (
                f"{one.low:+.4f} to {one.high:+.4f}" if one.low is not None else ""
            )
            lines.append(
                f"  {one.origin:<8}  {one.metric:<6} {one.baseline_value:>10.4f} "
                f"{one.value:>9.4f}  {one.difference:>+10.4f}  {interval:>19}  "
                f"{one.p_value:>6.4f}"
            )
    return "\n".join([*lines[1:], ""])


def _compare_losses(
    label: str,
    losses: Mapping[str, Mapping[str, TestSetLosses]],
    resamples: int,
    seed: int,
) -> Iterator[Difference]:
    (baseline, first), *others = ((name, own[label]) for name, own in losses.items())
    tokens = first.tokens
    for origin, own in parts_by_origin(first.origins.tolist(), len(tokens)).items():
        total = tokens[own].sum()
        for name, other in others:
            if not np.array_equal(other.tokens, tokens):
                raise UserError(
                    f"compare {label}: {baseline} and {name} were not measured on the "
                    "same sentences; evaluate again"
                )
            nats = other.nats
            low, high, p_value = paired_bootstrap(
                (nats - first.nats)[own], tokens[own], resamples=resamples, seed=seed
            )
            task, _, test_set = label.partition("/")
            yield Difference(
                task, test_set, origin, "loss", baseline, name,
                float(first.nats[own].sum() / total), float(nats[own].sum() / total),
                low, high, p_value, f"bs:{resamples}|seed:{seed}",
            )  # fmt: skip


def _compare_quality(
    evaluated: Path, label: str, trials: Sequence[str], resamples: int, seed: int
) -> Iterator[Difference]:
    """Where every one of the trials has translated the test set."""
    task, _, test_set = label.partition("/")
    paths = [translation_path(evaluated, name, task, test_set) for name in trials]
    if not all(path.is_file() for path in paths):
        return
    translations = [Translation(task, test_set, load_sentences(path)) for path in paths]
    for origin, own in translations[0].parts().items():
        parts = {
            trial: translation.take(own)
            for trial, translation in zip(trials, translations, strict=True)
        }
        for metric in QualityRecord.load(evaluated).metrics:
            test = _test_means if metric in _SENTENCE_METRICS else _test_overlap
            for found in test(metric, parts, resamples, seed):
                yield Difference(
                    task=task, test_set=test_set, origin=origin, metric=metric,
                    baseline=trials[0], **found,
                )  # fmt: skip


def _test_means(
    metric: str, parts: Mapping[str, Translation], resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Metrics whose corpus score is the mean over sentences."""
    (_, first), *others = (
        (trial, np.array([one.metrics[metric] for one in translation.sentences]))
        for trial, translation in parts.items()
    )
    for trial, other in others:
        low, high, p_value = paired_bootstrap(
            other - first, np.ones(len(first)), resamples=resamples, seed=seed
        )
        yield {
            "trial": trial,
            "baseline_value": float(first.mean()),
            "value": float(other.mean()),
            "low": low,
            "high": high,
            "p_value": p_value,
            "signature": f"bs:{resamples}|seed:{seed}",
        }


def _test_overlap(
    metric: str, parts: Mapping[str, Translation], resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """BLEU and chrF: sacrebleu's own paired bootstrap test, with its own seed."""
    from sacrebleu.significance import PairedTest

    from components.evaluate.overlap_metrics import build, streams

    first = next(iter(parts.values()))
    test = PairedTest(
        [(trial, translation.hypotheses) for trial, translation in parts.items()],
        {metric: build(metric, first.language)},
        streams(first.references),
        test_type="bs",
        n_samples=resamples,
    )
    signatures, scores = test()
    ((name, signature),) = signatures.items()
    baseline, *others = scores[name]
    for trial, result in zip(list(parts)[1:], others, strict=True):
        yield {
            "trial": trial,
            "baseline_value": float(baseline.score),
            "value": float(result.score),
            "low": None,
            "high": None,
            "p_value": float(result.p_value),
            "signature": str(signature),
        }
