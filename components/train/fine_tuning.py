"""Fine-tuning with the trainer's models: the same steps from given weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.artifacts import checkpoints
from components.train import mixture
from components.train.config import Config
from components.train.model_stack import ModelStack
from components.train.rows import Rows
from components.train.sweep_data import batch_rows
from models.nmt.sizes import get_shape

# An artifact of ``tokenize``, and every task with its share of the training pairs.
Text = tuple[Path, Sequence[tuple[str, float]]]


def fine_tune(config: Config, start: Path, texts: Sequence[Text], output: Path) -> None:
    """See `components.train.fine_tune`."""
    arrays, record = checkpoints.load_weights(start)
    seeds = [*config.seeds] * len(texts)
    shape = get_shape(record.size)
    stack = ModelStack(config, shape, record.vocabulary_size, seeds)
    for variable in stack.model.trainable_variables:
        variable.assign(np.stack([arrays[variable.path]] * len(texts)))
    rows = Rows.join(
        [Rows.load(tokens, [task for task, _ in shares]) for tokens, shares in texts]
    )
    batches = mixture.batches(
        rows,
        mixture.row_probabilities(_weights(texts), rows.examples),
        np.array(seeds),
        batch_rows=batch_rows(config, rows),
        steps_per_execution=config.steps_per_execution,
        start_step=0,
        stop_step=config.steps,
        drawn=np.zeros((len(seeds), len(rows.count)), np.int64),
    )
    for fields, _ in batches:
        stack.train(fields)
    models = [arrays, *(stack.weights(index) for index in range(len(texts)))]
    stacked = {name: np.stack([one[name] for one in models]) for name in arrays}
    checkpoints.save_weights(output, stacked, record)


def _weights(texts: Sequence[Text]) -> np.ndarray:
    """Each model sees its own text only, float64 [texts, tasks of all of them]."""
    owner = np.repeat(np.arange(len(texts)), [len(shares) for _, shares in texts])
    shares = np.array([share for _, of_text in texts for _, share in of_text])
    return np.where(owner == np.arange(len(texts))[:, None], shares, 0.0)
