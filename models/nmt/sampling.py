"""Sampling from the model instead of searching for the best."""

from __future__ import annotations

from typing import Any

from keras import ops

from models.nmt.cached_decoder import CachedDecoder, Source
from models.nmt.search import NEVER, Beam, allowed_tokens, write_slots
from models.nmt.search_options import END_ID, SearchOptions

Tensor = Any


def draw(
    decoder: CachedDecoder,
    options: SearchOptions,
    source: Source,
    beam: Beam,
    uniforms: Tensor,
    prefixes: Tensor | None = None,
) -> Beam:
    """One step of ``width`` independent samples of each sentence.

    Args:
      decoder: Of the model.
      options: With ``temperature``.
      source: The sentences.
      beam: The state so far; each place of the beam is a sample of its own.
      uniforms: float32 ``[batch, width, length]`` in [0, 1), one for every token.
      prefixes: As in `beam_search.extend`.
    """
    slots, is_now = write_slots(beam)
    logits, cache = decoder.step(source, beam.cache, beam.newest, slots, beam.step)
    allowed = allowed_tokens(options, beam.step, logits.shape[-1], prefixes)
    uniform = ops.take(uniforms, beam.step, axis=2)
    newest = choose(options, ops.where(allowed, logits, NEVER), uniform)
    gained = ops.squeeze(
        ops.take_along_axis(ops.log_softmax(logits), newest[:, :, None], axis=-1), -1
    )
    is_open = ops.equal(beam.kept_lengths, 0)
    total = ops.where(is_open, beam.log_probabilities + gained, beam.log_probabilities)
    tokens = ops.where(is_now, newest[:, :, None], beam.tokens)
    count = beam.step + 1
    at_limit = ops.greater_equal(count, beam.limits)[:, None]
    closes = ops.logical_and(
        is_open, ops.logical_or(ops.equal(newest, END_ID), at_limit)
    )
    lengths = ops.where(closes, count, beam.kept_lengths)
    return beam._replace(
        step=count,
        done=ops.all(lengths > 0, axis=1),
        tokens=tokens,
        slots=slots,
        newest=newest,
        log_probabilities=total,
        cache=cache,
        kept_tokens=ops.where(closes[:, :, None], tokens, beam.kept_tokens),
        kept_lengths=lengths,
        kept_log_probabilities=ops.where(closes, total, beam.kept_log_probabilities),
    )


def choose(options: SearchOptions, logits: Tensor, uniform: Tensor) -> Tensor:
    """Token ids by the inverse of the cumulative distribution.

    The tokens are put in order of probability, those beyond ``top_k`` and ``top_p``
    dropped, and the first is taken whose cumulative probability exceeds ``uniform``
    times what is left.

    Args:
      options: With ``temperature``.
      logits: float32 ``[..., vocabulary]``.
      uniform: float32 ``[...]`` in [0, 1).

    Returns:
      int32 ``[...]``.
    """
    vocabulary = logits.shape[-1]
    kept = min(options.top_k or vocabulary, vocabulary)
    ordered, tokens = ops.top_k(logits / options.temperature, kept)
    probabilities = ops.softmax(ordered, axis=-1)
    cumulative = ops.cumsum(probabilities, axis=-1)
    if options.top_p is not None:
        # A token stays if those before it have not reached top_p yet.
        stays = cumulative - probabilities < options.top_p
        probabilities = ops.where(stays, probabilities, 0.0)
        cumulative = ops.cumsum(probabilities, axis=-1)
    reached = cumulative <= (uniform * cumulative[..., -1])[..., None]
    place = ops.sum(ops.cast(reached, "int32"), axis=-1)
    place = ops.minimum(place, kept - 1)
    chosen = ops.take_along_axis(tokens, place[..., None], axis=-1)
    return ops.cast(ops.squeeze(chosen, -1), "int32")
