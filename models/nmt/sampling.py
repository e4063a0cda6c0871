"""Sampling from the model instead of searching for the best."""

from __future__ import annotations

from typing import Any

from keras import ops

from models.nmt.cached_decoder import NEVER, CachedDecoder
from models.nmt.search import Beam, Sentences, forced_tokens, now, own_slots
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions

Tensor = Any


def draw(
    decoder: CachedDecoder, options: SearchOptions, sentences: Sentences, beam: Beam
) -> Beam:
    """One step of independent samples: one in each place of the beam.

    A sample that has come to its end is kept in its place.
    """
    slots = own_slots(beam)
    logits, cache = decoder.step(
        sentences.source, beam.cache, beam.newest, slots, beam.time, beam.begun
    )
    logits = logits[:, :, : decoder.model.vocabulary_size]
    age = beam.time - beam.begun
    newest = _next_tokens(options, sentences, age, logits)
    forced = forced_tokens(sentences, beam)
    if forced is not None:
        newest = ops.where(forced > 0, forced, newest)
    log_probabilities = ops.log_softmax(logits, axis=-1)
    gained = ops.take_along_axis(log_probabilities, newest[:, :, None], axis=-1)
    is_open = ops.equal(beam.kept_lengths, 0)
    total = beam.log_probabilities + ops.where(is_open, gained[:, :, 0], 0.0)
    tokens = ops.where(now(beam), newest[:, :, None], beam.tokens)
    at_limit = ops.greater_equal(age + 1, sentences.limits)[:, None]
    closes = ops.logical_or(ops.equal(newest, END_ID), at_limit)
    closes = ops.logical_and(closes, is_open)
    lengths = ops.where(closes, age[:, None] + 1, beam.kept_lengths)
    return beam._replace(
        time=beam.time + 1,
        done=ops.logical_or(beam.done, ops.all(lengths > 0, axis=1)),
        tokens=tokens,
        slots=slots,
        newest=newest,
        log_probabilities=total,
        cache=cache,
        kept_tokens=ops.where(closes[:, :, None], tokens, beam.kept_tokens),
        kept_lengths=lengths,
        kept_log_probabilities=ops.where(closes, total, beam.kept_log_probabilities),
    )


def _next_tokens(
    options: SearchOptions, sentences: Sentences, age: Tensor, logits: Tensor
) -> Tensor:
    """int32 ``[batch, width]``; ``age`` is the number of tokens so far."""
    width, vocabulary = logits.shape[1:]
    ids = ops.arange(vocabulary, dtype="int32")
    is_early = (age < options.min_length)[:, None, None]
    allowed = ops.logical_and(
        ops.not_equal(ids, PAD_ID),
        ops.logical_not(ops.logical_and(is_early, ops.equal(ids, END_ID))),
    )
    last = sentences.uniforms.shape[2] - 1
    place = ops.clip(age, 0, last)[:, None, None]
    uniform = ops.take_along_axis(sentences.uniforms, ops.tile(place, (1, width, 1)), 2)
    return choose(options, ops.where(allowed, logits, NEVER), uniform[:, :, 0])


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
    stays = probabilities > 0
    if options.top_p is not None:
        # A token stays if those before it have not reached top_p yet.
        before = ops.cumsum(probabilities, axis=-1) - probabilities
        stays = ops.logical_and(stays, before < options.top_p)
    cumulative = ops.cumsum(ops.where(stays, probabilities, 0.0), axis=-1)
    reached = cumulative <= (uniform * cumulative[..., -1])[..., None]
    # Rounding may make the product as large as the sum: the last that stays, then.
    place = ops.minimum(_count(reached), _count(stays) - 1)
    chosen = ops.take_along_axis(tokens, place[..., None], axis=-1)
    return ops.cast(ops.squeeze(chosen, -1), "int32")


def _count(x: Tensor) -> Tensor:
    return ops.sum(ops.cast(x, "int32"), axis=-1)
