"""Whole searches as one function of tensors, for a batch that stays together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from models.nmt import beam_search, sampling
from models.nmt.cached_decoder import CachedDecoder
from models.nmt.search import Beam, Sentences, advance, free_seats, seat
from models.nmt.search_options import SearchOptions
from models.nmt.transformer import Transformer

Tensor = Any


def extension(
    decoder: CachedDecoder, options: SearchOptions, sentences: Sentences
) -> Callable[[Beam], Beam]:
    """The step that the options ask for: of beam search or of sampling."""
    step = sampling.draw if options.samples else beam_search.extend
    return lambda beam: step(decoder, options, sentences, beam)


def decode(
    model: Transformer,
    options: SearchOptions,
    source_ids: Tensor,
    limits: Tensor,
    *,
    length: int,
    prefixes: Tensor | None = None,
    uniforms: Tensor | None = None,
) -> Beam:
    """Decodes a batch from beginning to end, as one graph.

    For a served model, or where a batch is all there is; many sentences are
    translated faster by `components.evaluate.decoding.Translator`.

    Args:
      model: A single model, built.
      options: What to search for.
      source_ids: int32 ``[batch, Ls]``, 0 is padding.
      limits: int32 ``[batch]``, most target tokens of each sentence with the end of
        sentence, from 1 to ``length``; by `SearchOptions.max_length`.
      length: Static bound of the limits.
      prefixes: int32 ``[batch, P]``, tokens to begin with, 0 after the last one; a
        prefix is shorter than its sentence's limit.
      uniforms: float32 ``[batch, width, length]`` in [0, 1); for sampling.

    Returns:
      The state at the end. What was found is in ``kept_tokens``, ``kept_lengths``,
      ``kept_log_probabilities``, best first (samples: in no order), from place 0 on.
    """
    decoder = CachedDecoder(model, length)
    batch, source_length = source_ids.shape
    if prefixes is None:
        prefixes = ops.zeros((batch, 0), "int32")
    if uniforms is None:
        uniforms = ops.zeros((batch, 0, 0), "float32")
    sentences, beam = free_seats(
        model,
        options,
        batch=batch,
        length=length,
        source_length=source_length,
        prefix_length=prefixes.shape[1],
    )
    arrived = Sentences(decoder.read(source_ids), limits, prefixes, uniforms)
    seats = ops.arange(batch, dtype="int32")
    sentences, beam = seat(options, sentences, beam, arrived, seats)
    return advance(beam, extension(decoder, options, sentences), leaving=batch)
