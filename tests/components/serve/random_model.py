"""A random model as one that was trained, with a vocabulary without text."""

from __future__ import annotations

import dataclasses

import numpy as np

from components.serve.trained import Trained
from models.nmt.search_options import END_ID
from models.nmt.sizes import Shape
from models.nmt.transformer import Transformer

VOCABULARY = 150


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Stands for `components.tokenize.vocabulary.Vocabulary`."""

    size: int = VOCABULARY
    serialised: bytes = b""

    @property
    def pieces(self) -> list[str]:
        return ["<pad>", "</s>", "<unk>", *(f"p{i}" for i in range(3, self.size))]


def random_model(shape: Shape, seed: int = 1) -> tuple[Trained, Transformer]:
    """The same model for translators and in Keras; some sentences end, some do not."""
    model = Transformer(shape, VOCABULARY)
    model.build()
    model.initialise([seed])
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        if len(variable.shape) == 1:  # norms that scale by 1 test nothing
            variable.assign(variable + rng.uniform(-0.4, 0.4, variable.shape))
    kernel = model.softmax.kernel.numpy()
    kernel[:, END_ID] *= 2.5
    model.softmax.kernel.assign(kernel)
    weights = {v.path: v.numpy() for v in model.trainable_variables}
    vocabulary = Pieces()
    trained = Trained("random", shape, weights, vocabulary, {}, {}, 100)
    return trained, model


def sentences(count: int, seed: int, longest: int = 9) -> list[list[int]]:
    """Random source sentences."""
    rng = np.random.default_rng(seed)
    return [
        [*rng.integers(3, VOCABULARY, rng.integers(1, longest)).tolist(), END_ID]
        for _ in range(count)
    ]
