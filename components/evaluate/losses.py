"""Exact losses of the kept weights of every trial, as rows of the metrics table."""

from __future__ import annotations

import dataclasses
import json
import logging
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from components.artifacts import manifest, metrics_table
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.text_shards import TRAIN
from components.artifacts.token_index import TokenIndex
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import CURVE, WEIGHTS, TrialRecord
from components.engines.cross_entropy import (
    Scorer,
    SentenceLosses,
    TestSet,
    load_test_sets,
)
from components.evaluate import sentence_losses
from components.evaluate.layout import IRREDUCIBLE, Folders
from components.evaluate.sentence_losses import TestSetLosses
from components.serve.trained import check_tokens, load_weights
from components.train.curves import failed_rows, is_final
from models.errors import UserError
from models.nmt.sizes import count_parameters, get_shape
from models.nmt.transformer import Transformer

log = logging.getLogger(__name__)

# The trainer measured the same weights: more than rounding apart means that one of
# the two is wrong.
_TOLERANCE = 1e-4


def measure(folders: Folders, trials: Sequence[str], stack: int) -> list[MetricsRow]:
    """Measures every trial on every test set.

    Writes the losses of all sentences and the true entropies of the test sets.

    Args:
      folders: What is read and written.
      trials: Their names.
      stack: Most models of one size that are scored side by side.

    Returns:
      The final rows and the learning curves, in the order of the trials.
    """
    check_tokens(folders.train, folders.tokens)
    index = TokenIndex.load(folders.tokens)
    test_sets = load_test_sets(folders.tokens, tuple(index.tasks))
    rows: list[MetricsRow] = []
    for names in _stacks(folders.train, trials, stack):
        rows += _measure_stack(folders, names, test_sets)
    text = json.dumps(irreducible_losses(index), indent=1)
    manifest.write_atomically(folders.output / IRREDUCIBLE, text + "\n")
    return sorted(rows, key=lambda row: trials.index(row.trial))


def irreducible_losses(
    index: TokenIndex,
) -> dict[str, dict[str, dict[str, float | None]]]:
    """True conditional entropy of each test set, where the generator knows it.

    Returns:
      task -> test set -> ``nats_per_token``: -ln P(target | source) under the
      generator, summed over the test set, over its target tokens; or ``None``.
    """
    return {
        task: {
            name: {
                "nats_per_token": split.nats / split.target_tokens
                if split.nats is not None
                else None,
                "target_tokens": split.target_tokens,
            }
            for name, split in described.splits.items()
            if name != TRAIN
        }
        for task, described in index.tasks.items()
    }


def final_row(curve: Sequence[MetricsRow], steps: int) -> MetricsRow:
    """The final loss of one trial on one test set.

    The median over the evaluations of the last tenth of training, as in Ghorbani et
    al. (2021), section 2.1, which does not depend on one lucky or unlucky evaluation.
    """
    losses = [row.loss for row in curve if is_final(row.step, steps)]
    last = max(curve, key=lambda row: row.step)
    return dataclasses.replace(last, loss=statistics.median(losses), loss_kind="final")


def _stacks(train: Path, trials: Sequence[str], most: int) -> Iterator[list[str]]:
    """Names of trials of one size, at most so many at a time."""
    by_size: dict[str, list[str]] = {}
    for name in trials:
        size = manifest.load(train / name).config["trial"]["size"]
        by_size.setdefault(size, []).append(name)
    for names in by_size.values():
        for first in range(0, len(names), most):
            yield names[first : first + most]


def _measure_stack(
    folders: Folders, names: Sequence[str], test_sets: Sequence[TestSet]
) -> list[MetricsRow]:
    train, tokens = folders.train, folders.tokens
    records = {name: TrialRecord.load(train / name) for name in names}
    done = [name for name in names if records[name].status == "done"]
    rows: list[MetricsRow] = []
    for name in names:
        if name not in done:
            rows += metrics_table.load(train / name / CURVE)
            rows += _failed_rows(train / name, records[name].step, tokens, test_sets)
            log.warning("%s failed: %s", name, records[name].reason)
    if not done:
        return rows
    model = _load_stack([train / name / WEIGHTS for name in done], tokens)
    measured = Scorer(model).score_all(test_sets)
    log.info("evaluate: %s", ", ".join(done))
    for place, name in enumerate(done):
        curve = metrics_table.load(train / name / CURVE)
        for test_set, losses in zip(test_sets, measured, strict=True):
            for origin, own in test_set.parts().items():
                part = _part(curve, test_set, origin)
                final = final_row(part, records[name].steps)
                _check_same(name, part[-1], losses.take(own), place)
                rows += [final, *part]
        sentence_losses.save(
            folders.output,
            name,
            {
                f"{test_set.task}/{test_set.name}": TestSetLosses(
                    losses.nats[place],
                    losses.tokens,
                    test_set.numbers,
                    np.array(test_set.origins)[test_set.numbers]
                    if test_set.origins
                    else np.array([], str),
                )
                for test_set, losses in zip(test_sets, measured, strict=True)
            },
        )
    return rows


def _failed_rows(
    folder: Path, step: int, tokens: Path, test_sets: Sequence[TestSet]
) -> list[MetricsRow]:
    """Final rows without a loss of a trial that failed."""
    plain = manifest.load(folder).config["trial"]
    mixture = tuple((task, weight) for task, weight in plain["mixture"])
    trial = Trial(**plain | {"mixture": mixture})
    vocabulary_size = TokenIndex.load(tokens).vocabulary_size
    parameters = count_parameters(get_shape(trial.size), vocabulary_size)
    return failed_rows(trial, parameters, step, test_sets)


def _load_stack(paths: Sequence[Path], tokens: Path) -> Transformer:
    """Trained models of one size as a stack.

    Raises:
      UserError: A checkpoint is damaged, or was made with another vocabulary.
    """
    found = [load_weights(path, tokens) for path in paths]
    arrays, records = zip(*found, strict=True)
    shape = get_shape(records[0].size)
    model = Transformer(shape, records[0].vocabulary_size, stack=len(paths))
    model.build()
    for variable in model.trainable_variables:
        variable.assign(np.stack([one[variable.path] for one in arrays]))
    return model


def _part(
    curve: Sequence[MetricsRow], test_set: TestSet, origin: str
) -> list[MetricsRow]:
    """The rows of a learning curve that are about one part of one test set."""
    key = (test_set.task, test_set.name, origin)
    found = [row for row in curve if (row.task, row.test_set, row.origin) == key]
    if not found:
        raise UserError(
            f"evaluate {test_set.task}/{test_set.name}: the trainer measured no row of "
            f"origin {origin}; train again with `polyscale run --force train`"
        )
    return found


def _check_same(
    name: str, curve: MetricsRow, losses: SentenceLosses, place: int
) -> None:
    """The trainer scored the same sentences and found the same loss."""
    where = f"evaluate {name} {curve.task}/{curve.test_set} {curve.origin}"
    if curve.sentence_count != len(losses.tokens):
        raise RuntimeError(
            f"{where}: {len(losses.tokens)} sentences scored, the trainer scored "
            f"{curve.sentence_count}"
        )
    loss = float(losses.loss[place])
    if abs(loss - curve.loss) > _TOLERANCE * curve.loss:
        raise RuntimeError(
            f"{where}: the kept weights have loss {loss:.6f}, the trainer measured "
            f"{curve.loss:.6f} at the same step"
        )
