"""Search with `models.nmt.beam_search`, for what CTranslate2 cannot decode."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from components.serve.trained import Trained
from models.errors import UserError
from models.nmt.beam_search import beam_search
from models.nmt.search_options import PAD_ID, Hypothesis, SearchOptions
from models.nmt.transformer import Transformer

_STEP = 16  # lengths are rounded up to multiples: each shape is traced once
Ids = Sequence[int]


def load_model(trained: Trained) -> Transformer:
    """A Keras model with trained weights."""
    model = Transformer(trained.shape, trained.vocabulary.size)
    model.build()
    for variable in model.trainable_variables:
        variable.assign(trained.weights[variable.path])
    return model


class KerasSearch:
    """See `components.serve.translator.Search`.

    Args:
      trained: The model.
      options: Of the search.
      compute_type: Of the matrix products.
      batch: Most sentences side by side.

    Raises:
      UserError: Sampling, or anything but float32 is asked for.
    """

    def __init__(
        self, trained: Trained, options: SearchOptions, compute_type: str, batch: int
    ):
        what = f"{trained.name}: a model of the block {trained.shape.block}"
        if options.samples:
            raise UserError(f"{what} cannot be sampled from; leave out the temperature")
        if compute_type != "float32":
            raise UserError(f"{what} decodes in float32, not in {compute_type}")
        self._options, self._batch = options, batch
        self._model = load_model(trained)
        self._found = tf.function(
            functools.partial(beam_search, self._model, options), autograph=False
        )

    def search(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], limits: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """See `components.serve.translator.Search`."""
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        hypotheses: dict[int, list[Hypothesis]] = {}
        for first in range(0, len(order), self._batch):
            chosen = order[first : first + self._batch]
            found = self._search(
                [sources[i] for i in chosen],
                [prefixes[i] for i in chosen],
                [limits[i] for i in chosen],
            )
            hypotheses |= dict(zip(chosen, found, strict=True))
        return [hypotheses[i] for i in range(len(sources))]

    def _search(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], limits: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Searches one batch, filled up with rows that end after one token."""
        rows = 1 if len(sources) == 1 else self._batch
        found = self._found(
            _padded(sources, rows),
            tf.constant([*limits, *[1] * (rows - len(limits))]),
            length=_rounded(max(limits)),
            prefixes=_padded(prefixes, rows),
        )
        tokens, lengths, scores = (x.numpy() for x in found[:3])
        return [
            [
                Hypothesis.of(ids[:length].tolist(), float(score), self._options)
                for ids, length, score in zip(*sentence, strict=True)
                if length
            ]
            for sentence in zip(tokens[: len(sources)], lengths, scores, strict=False)
        ]


def _padded(sentences: Sequence[Ids], rows: int) -> tf.Tensor:
    """int32 ``[rows, rounded length]``."""
    padded = np.full((rows, _rounded(max(map(len, sentences)))), PAD_ID, np.int32)
    for row, ids in zip(padded, sentences, strict=False):
        row[: len(ids)] = ids
    return tf.constant(padded)


def _rounded(length: int) -> int:
    return -(-length // _STEP) * _STEP
