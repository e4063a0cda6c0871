"""Fine-tuning with the trainer's program: the same steps from given weights."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.artifacts import checkpoints
from components.train import mixture, rows
from components.train.config import Config
from components.train.program import Program
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


def tune(
    config: Config, start: Path, texts: Sequence[BetterText], scratch: Path
) -> list[Weights]:
    """Trains a model further on each of some texts, side by side as one stack.

    Args:
      config: How, and how long; with one seed.
      start: Checkpoint of a single model.
      texts: The texts.
      scratch: Folder for files that are gone afterwards.

    Returns:
      The weights of the model in the end, for each text.
    """
    arrays, record = checkpoints.load(start)
    seeds = [*config.seeds] * len(texts)
    shape = get_shape(record["size"])
    program = Program(config, shape, record["vocabulary_size"], seeds)
    for variable in program.model.trainable_variables:
        variable.assign(np.stack([arrays[variable.path]] * len(texts)))
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        data = _join(
            [_rows(text, Path(folder) / str(i)) for i, text in enumerate(texts)]
        )
        batches = mixture.batches(
            data,
            mixture.row_probabilities(_weights(texts), data.examples),
            np.array(seeds),
            batch_rows=batch_rows(config, data),
            steps_per_call=config.steps_per_call,
            start_step=0,
            stop_step=config.steps,
            drawn=np.zeros((len(seeds), len(data.tables)), np.int64),
        )
        for fields, _ in batches:
            program.train(fields)
    return [program.weights(index) for index in range(len(texts))]


def write(path: Path, stack: Sequence[Weights], start: Path) -> None:
    """Writes models of one size as one stack, with the record of the first."""
    record = checkpoints.load(start)[1]
    arrays = {name: np.stack([one[name] for one in stack]) for name in stack[0]}
    checkpoints.save(path, arrays, record)


def _rows(text: BetterText, folder: Path) -> rows.Rows:
    rows.build(text.tokens, [task for task, _ in text.shares], folder)
    return rows.load(folder)


def _join(parts: Sequence[rows.Rows]) -> rows.Rows:
    """The rows of several texts, the tasks of each being tasks of their own."""
    return rows.Rows(
        tuple(table for part in parts for table in part.tables),
        parts[0].lengths,
        np.concatenate([part.examples for part in parts]),
        np.concatenate([part.target_tokens for part in parts]),
    )


def _weights(texts: Sequence[BetterText]) -> np.ndarray:
    """Each model sees its own text only, float64 [texts, tasks of all of them]."""
    shares = [[share for _, share in text.shares] for text in texts]
    whole = np.zeros((len(texts), sum(map(len, shares))))
    first = 0
    for row, own in zip(whole, shares, strict=True):
        row[first : first + len(own)] = own
        first += len(own)
    return whole
