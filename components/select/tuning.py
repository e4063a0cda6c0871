"""Fine-tuning with the trainer's program: the same steps from given weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.artifacts import checkpoints
from components.train import mixture
from components.train.config import Config
from components.train.program import Program
from components.train.rows import Rows
from components.train.sweep_data import batch_rows
from models.nmt.sizes import get_shape

Weights = Mapping[str, np.ndarray]


def read(path: Path) -> Weights:
    """The weights of a single model."""
    return checkpoints.load(path)[0]


@dataclasses.dataclass(frozen=True)
class BetterText:
    """What a model is fine-tuned on.

    Attributes:
      tokens: An artifact of ``tokenize`` with the model's vocabulary.
      shares: Task -> share of the training pairs.
    """

    tokens: Path
    shares: Sequence[tuple[str, float]]


def tune(config: Config, start: Path, texts: Sequence[BetterText]) -> list[Weights]:
    """Trains a model further on each of some texts, side by side as one stack.

    Args:
      config: How, and how long; with one seed.
      start: Checkpoint of a single model.
      texts: The texts.

    Returns:
      The weights of the model in the end, for each text.
    """
    arrays, record = checkpoints.load(start)
    seeds = [*config.seeds] * len(texts)
    shape = get_shape(record["size"])
    program = Program(config, shape, record["vocabulary_size"], seeds)
    for variable in program.model.trainable_variables:
        variable.assign(np.stack([arrays[variable.path]] * len(texts)))
    data = Rows.join(
        [Rows.load(text.tokens, [task for task, _ in text.shares]) for text in texts]
    )
    batches = mixture.batches(
        data,
        mixture.row_probabilities(_weights(texts), data.examples),
        np.array(seeds),
        batch_rows=batch_rows(config, data),
        steps_per_call=config.steps_per_call,
        start_step=0,
        stop_step=config.steps,
        drawn=np.zeros((len(seeds), len(data.count)), np.int64),
    )
    for fields, _ in batches:
        program.train(fields)
    return [program.weights(index) for index in range(len(texts))]


def write(path: Path, stack: Sequence[Weights], start: Path) -> None:
    """Writes models of one size as one stack, with the record of the first."""
    record = checkpoints.load(start)[1]
    arrays = {name: np.stack([one[name] for one in stack]) for name in stack[0]}
    checkpoints.save(path, arrays, record)


def _weights(texts: Sequence[BetterText]) -> np.ndarray:
    """Each model sees its own text only, float64 [texts, tasks of all of them]."""
    shares = [[share for _, share in text.shares] for text in texts]
    whole = np.zeros((len(texts), sum(map(len, shares))))
    first = 0
    for row, own in zip(whole, shares, strict=True):
        row[first : first + len(own)] = own
        first += len(own)
    return whole
