"""Translates any number of sentences with one trained model.

Example:
  >>> translator = Translator(model, SearchOptions(beams=4))  # doctest: +SKIP
  >>> best = translator.translate_ids([[5, 9, 1], [7, 1]])[0][0]  # doctest: +SKIP
  >>> best.ids, best.score  # doctest: +SKIP
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from models.errors import UserError
from models.nmt import beam_search, sampling, search
from models.nmt.cached_decoder import CachedDecoder
from models.nmt.search import Beam
from models.nmt.search_options import END_ID, PAD_ID, Hypothesis, SearchOptions
from models.nmt.transformer import Transformer

Prefix = Sequence[int]


class Translator:
    """Decodes with one model under one set of options.

    The weights are read at every call: a translator of a model in training always
    uses the newest ones.

    Args:
      model: A single model (``stack`` is ``None``), built.
      options: What to search for.
      batch_sentences: Sentences that are decoded side by side.
      window: Sentences that `stream` reads ahead, to batch them by length.
    """

    def __init__(
        self,
        model: Transformer,
        options: SearchOptions | None = None,
        *,
        batch_sentences: int = 32,
        window: int = 1024,
    ):
        self.model = model
        self.options = options or SearchOptions()
        self.batch_sentences = batch_sentences
        self.window = max(window, batch_sentences)
        self.decoder = CachedDecoder(model)
        self._search = tf.function(self._searched, autograph=False)

    def translate_ids(
        self,
        source_ids: Sequence[Sequence[int]],
        *,
        prefixes: Sequence[Prefix] | None = None,
    ) -> list[list[Hypothesis]]:
        """Translates sentences.

        Args:
          source_ids: The tokens of each sentence exactly as in training: with the
            tag of the target language, if the model knows several, and the end of
            sentence. Of any length; a sentence without tokens gets the empty
            hypothesis.
          prefixes: For each sentence the target tokens that its hypotheses begin
            with; may be empty.

        Returns:
          For each sentence, in the order given, up to ``nbest`` hypotheses, the
          best first. What a sentence gets does not depend on the others.

        Raises:
          UserError: An id is outside of the model's vocabulary, or the prefixes are
            not as many as the sentences.
        """
        if prefixes is not None and len(prefixes) != len(source_ids):
            raise UserError(
                f"translate: {len(source_ids)} sentences, {len(prefixes)} prefixes"
            )
        return list(self.stream(source_ids, prefixes=prefixes))

    def stream(
        self,
        source_ids: Iterable[Sequence[int]],
        *,
        prefixes: Iterable[Prefix] | None = None,
    ) -> Iterator[list[Hypothesis]]:
        """As `translate_ids`, in memory that does not grow with their number."""
        pairs = zip(source_ids, prefixes or itertools.repeat(()), strict=False)
        number = 0
        while sentences := list(itertools.islice(pairs, self.window)):
            yield from self._window(sentences, number)
            number += len(sentences)

    def _window(
        self, sentences: list[tuple[Sequence[int], Prefix]], first: int
    ) -> list[list[Hypothesis]]:
        """Translates sentences number ``first``, ... in batches of like length."""
        for number, (ids, prefix) in enumerate(sentences, first):
            self._check(number, ids)
            self._check(number, prefix)
        found = [[Hypothesis((), 0.0, 0.0, True)] for _ in sentences]
        order = sorted(
            (i for i, (ids, _) in enumerate(sentences) if len(ids)),
            key=lambda i: len(sentences[i][0]),
        )
        for begin in range(0, len(order), self.batch_sentences):
            places = order[begin : begin + self.batch_sentences]
            batch = self._batch(
                [sentences[i] for i in places], [first + i for i in places]
            )
            for place, hypotheses in zip(places, batch, strict=True):
                found[place] = hypotheses
        return found

    def _check(self, number: int, ids: Sequence[int]) -> None:
        largest = self.model.vocabulary_size - 1
        for i in ids:
            if not PAD_ID < i <= largest:
                raise UserError(
                    f"translate: sentence {number} has the id {i}, expected 1 to "
                    f"{largest}; is this the tokenizer that the model was trained with?"
                )

    def _batch(
        self, sentences: list[tuple[Sequence[int], Prefix]], numbers: list[int]
    ) -> list[list[Hypothesis]]:
        limits = np.array(
            [
                max(self.options.max_length(len(ids)), len(prefix) + 1)
                for ids, prefix in sentences
            ],
            np.int32,
        )
        length = -(-int(limits.max()) // 16) * 16
        beam = self._search(
            tf.constant(_padded([ids for ids, _ in sentences])),
            tf.constant(_padded([prefix for _, prefix in sentences])),
            tf.constant(limits),
            tf.constant(self._uniforms(numbers, length)),
            length,
        )
        return read_hypotheses(self.options, beam)

    def _uniforms(self, numbers: list[int], length: int) -> np.ndarray:
        """float32 ``[batch, width, length]``; empty unless sampling."""
        if self.options.temperature is None:
            return np.zeros((len(numbers), 0, 0), np.float32)
        seed, width = self.options.seed, self.options.width
        return np.stack(
            [
                np.stack(
                    [
                        np.random.default_rng([seed, n, k]).random(length, np.float32)
                        for k in range(width)
                    ]
                )
                for n in numbers
            ]
        )

    def _searched(
        self,
        source_ids: tf.Tensor,
        prefixes: tf.Tensor,
        limits: tf.Tensor,
        uniforms: tf.Tensor,
        length: int,
    ) -> Beam:
        source = self.decoder.read(source_ids)
        forced = prefixes if prefixes.shape[1] else None

        def extend(beam: Beam) -> Beam:
            given = (self.decoder, self.options, source, beam)
            if self.options.temperature is None:
                return beam_search.extend(*given, forced)
            return sampling.draw(*given, uniforms, forced)

        beam = search.start(self.decoder, self.options, limits, length)
        return search.advance(beam, extend, length)


def read_hypotheses(options: SearchOptions, beam: Beam) -> list[list[Hypothesis]]:
    """The ``nbest`` kept hypotheses of each sentence, best first."""
    return [
        sorted(
            (
                _hypothesis(options, ids[:length].tolist(), float(log_probability))
                for ids, length, log_probability in zip(*sentence, strict=True)
                if length
            ),
            key=lambda found: (not found.ended, -found.score),
        )[: options.nbest]
        for sentence in zip(
            beam.kept_tokens.numpy(),
            beam.kept_lengths.numpy(),
            beam.kept_log_probabilities.numpy(),
            strict=True,
        )
    ]


def _hypothesis(
    options: SearchOptions, ids: list[int], log_probability: float
) -> Hypothesis:
    score = log_probability / len(ids) ** options.length_normalisation
    ended = ids[-1] == END_ID
    return Hypothesis(tuple(ids[:-1] if ended else ids), log_probability, score, ended)


def _padded(rows: Sequence[Sequence[int]], multiple: int = 8) -> np.ndarray:
    """int32 ``[rows, longest]``, the longest rounded up to a multiple."""
    longest = max(map(len, rows))
    padded = np.full((len(rows), -(-longest // multiple) * multiple), PAD_ID, np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded
