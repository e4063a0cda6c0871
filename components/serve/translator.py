"""Token ids of source sentences -> hypotheses, with one trained model.

CTranslate2 searches. What it cannot do is left to `models.nmt.beam_search`: the clipped
logits of the block of Vaswani et al. (`Shape.logit_clip`).
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol

import ctranslate2

from components.engines.cores import available_cores
from components.serve.ctranslate2_model import save_model
from components.serve.trained import Trained
from models.errors import UserError
from models.nmt.search_options import END_ID, PAD_ID, Hypothesis, SearchOptions

_BATCH = 64  # sentences
ComputeType = Literal["float32", "bfloat16", "int8"]
Ids = Sequence[int]


class Search(Protocol):
    """What searches for translations."""

    def search(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], limits: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, in the order given, unsorted.

        Args:
          sources: Source tokens of each sentence, at least one.
          prefixes: Target tokens that its hypotheses begin with; may be none.
          limits: Most target tokens, the end of sentence counted.
        """


class Translator:
    """Translates any number of sentences with one model.

    Example:
      >>> translator = Translator(trained, SearchOptions())  # doctest: +SKIP
      >>> best = translator.translate([[5, 9, 1], [7, 1]])[0][0]  # doctest: +SKIP
      >>> best.ids, best.score  # doctest: +SKIP

    Args:
      trained: The model.
      options: What to search for.
      compute_type: Of the matrix products. ``int8`` quantises the weights.
      batch: Most sentences that are decoded together; 64 by default.
      search: What searches; by default CTranslate2 where it can decode the model.

    Raises:
      UserError: This model cannot be sampled from or has no such compute type.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        *,
        compute_type: ComputeType = "float32",
        batch: int | None = None,
        search: Callable[..., Search] | None = None,
    ):
        self.options = options
        self._largest = trained.vocabulary.size - 1
        search = search or _default_search(trained)
        self._search = search(trained, options, compute_type, batch or _BATCH)

    def translate(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """Translates sentences.

        Args:
          sources: The tokens of each sentence exactly as in training: with the tag of
            the target language, if the model writes several, and the end of sentence.
            A sentence without other tokens has the empty translation.
          prefixes: For each sentence the target tokens that its hypotheses begin
            with; may be empty.

        Returns:
          For each sentence, in the order given, up to ``nbest`` hypotheses, the best
          first. Rounding aside, they do not depend on the other sentences.

        Raises:
          UserError: An id is not in the vocabulary, or there are fewer or more
            prefixes than sentences.
        """
        prefixes = [()] * len(sources) if prefixes is None else prefixes
        if len(prefixes) != len(sources):
            raise UserError(
                f"translate: {len(sources)} sentences, {len(prefixes)} prefixes"
            )
        for number, (ids, prefix) in enumerate(zip(sources, prefixes, strict=True)):
            self._check(number, ids, prefix)
        given = [i for i, ids in enumerate(sources) if any(t != END_ID for t in ids)]
        limits = [
            max(self.options.max_length(len(sources[i])), len(prefixes[i]) + 1)
            for i in given
        ]
        found = self._search.search(
            [sources[i] for i in given], [prefixes[i] for i in given], limits
        )
        translations = [[Hypothesis((), 0.0, 0.0, True)] for _ in sources]
        for i, hypotheses in zip(given, found, strict=True):
            best = sorted(hypotheses, key=lambda one: (not one.ended, -one.score))
            translations[i] = best[: self.options.nbest]
        return translations

    def _check(self, number: int, ids: Ids, prefix: Ids) -> None:
        for i in itertools.chain(ids, prefix):
            if not PAD_ID < i <= self._largest:
                raise UserError(
                    f"translate: sentence {number} has the id {i}, expected 1 to "
                    f"{self._largest}; use the vocabulary that the model was trained "
                    "with"
                )
        if END_ID in prefix:
            raise UserError(
                f"translate: the prefix of sentence {number} holds the end of "
                f"sentence (id {END_ID}); leave it out"
            )


def _default_search(trained: Trained) -> Callable[..., Search]:
    if trained.shape.logit_clip is None:
        return CTranslate2Search
    # Imports TensorFlow.
    from components.serve.keras_search import KerasSearch

    return KerasSearch


class CTranslate2Search:
    """Searches with CTranslate2: one batch a core, or all on a GPU.

    The batches hold sentences of like length, with one maximum length. Samples are
    drawn sentence by sentence, so that they depend on the seed and the sentence's place
    alone.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        compute_type: ComputeType,
        batch: int,
    ):
        self._options = options
        self._batch = 1 if options.samples else batch
        self._pieces = trained.vocabulary.pieces
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        device = "cuda" if ctranslate2.get_cuda_device_count() > 0 else "cpu"
        supported = ctranslate2.get_supported_compute_types(device)
        if compute_type not in supported:
            raise UserError(
                f"{compute_type}: CTranslate2 cannot compute in it on this {device}; "
                f"choose one of {', '.join(sorted(supported))}"
            )
        ctranslate2.set_random_seed(options.seed)
        with tempfile.TemporaryDirectory(prefix="polyscale-") as folder:
            save_model(Path(folder), trained.shape, trained.weights, self._pieces)
            self._translator = ctranslate2.Translator(
                folder,
                device=device,
                compute_type=compute_type,
                inter_threads=1 if options.samples else available_cores(),
                intra_threads=1,
            )

    def search(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], limits: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """See `Search`."""
        pending: dict = {}
        for chosen in self._batches(sources, prefixes, limits):
            results = self._translator.translate_batch(
                [self._to_pieces(sources[i]) for i in chosen],
                [self._to_pieces(prefixes[i]) for i in chosen],
                max_decoding_length=limits[chosen[0]],
                asynchronous=True,
                **self._settings(),
            )
            pending |= dict(zip(chosen, results, strict=True))
        return [self._read(pending[i].result()) for i in range(len(sources))]

    def _batches(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], limits: Sequence[int]
    ) -> Iterator[list[int]]:
        """Places of the sentences that are decoded together, the longest first."""

        def kind(i: int) -> tuple[int, int]:
            # CTranslate2 has one limit a batch, and where a sentence has a prefix it
            # drops hypotheses of others that end within that prefix's length.
            return -limits[i], len(prefixes[i])

        order = list(range(len(sources)))
        if not self._options.samples:
            order.sort(key=lambda i: (kind(i), -len(sources[i])))
        for _, group in itertools.groupby(order, key=kind):
            same_kind = list(group)
            for first in range(0, len(same_kind), self._batch):
                yield same_kind[first : first + self._batch]

    def _settings(self) -> dict[str, object]:
        options = self._options
        settings: dict[str, object] = {
            "length_penalty": options.length_normalisation,
            "min_decoding_length": 0,
            "max_input_length": 0,
            "return_scores": True,
            "return_end_token": True,
        }
        if options.temperature is None:
            return settings | {
                "beam_size": options.beams,
                "num_hypotheses": options.beams,
            }
        return settings | {
            "beam_size": 1,
            "num_hypotheses": options.nbest,
            "sampling_topk": options.top_k or 0,
            "sampling_topp": options.top_p or 1.0,
            "sampling_temperature": options.temperature,
        }

    def _to_pieces(self, ids: Ids) -> list[str]:
        return [self._pieces[i] for i in ids]

    def _read(self, result: ctranslate2.TranslationResult) -> list[Hypothesis]:
        return [
            Hypothesis.of([self._ids[piece] for piece in pieces], score, self._options)
            for pieces, score in zip(result.hypotheses, result.scores, strict=True)
        ]
