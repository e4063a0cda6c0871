"""The state of a search and its loop, shared by beam search and sampling.

Static shapes throughout: what differs between sentences is masked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from models.nmt.cached_decoder import Cache, CachedDecoder
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions

Tensor = Any

NEVER = -1e30  # the log-probability of what cannot be
# Hypotheses that have not ended come after all that have: their place is their rank.
NOT_ENDED = -1e9


class Beam(NamedTuple):
    """The search of a batch of sentences between two steps.

    All but ``step`` begin with the batch axis, so that sentences can be taken out.

    Attributes:
      step: int32 scalar, tokens so far.
      done: bool ``[batch]``, whether the search of a sentence is over.
      limits: int32 ``[batch]``, maximum target length of each sentence.
      tokens: int32 ``[batch, width, length]``, the live hypotheses.
      slots: int32 ``[batch, width, length]``, see `CachedDecoder.step`.
      newest: int32 ``[batch, width]``, the last token of each.
      log_probabilities: float32 ``[batch, width]``, best first.
      cache: Keys and values.
      kept_tokens: int32 ``[batch, width, length]``, hypotheses that ended, with
        their end of sentence.
      kept_lengths: int32 ``[batch, width]``; 0 where there is none.
      kept_log_probabilities: float32 ``[batch, width]``.
      kept_scores: float32 ``[batch, width]``, best first; `NOT_ENDED` times the rank
        for those that did not end.
    """

    step: Tensor
    done: Tensor
    limits: Tensor
    tokens: Tensor
    slots: Tensor
    newest: Tensor
    log_probabilities: Tensor
    cache: Cache
    kept_tokens: Tensor
    kept_lengths: Tensor
    kept_log_probabilities: Tensor
    kept_scores: Tensor


def start(
    decoder: CachedDecoder, options: SearchOptions, limits: Tensor, length: int
) -> Beam:
    """The state before the first step.

    Args:
      decoder: Of the model.
      options: Of the search.
      limits: int32 ``[batch]``, maximum target length of each sentence, at least 1.
      length: Static bound of all ``limits``.
    """
    batch, width = limits.shape[0], options.width
    ids = ops.zeros((batch, width, length), "int32")
    is_first = ops.equal(ops.arange(width), 0)
    # A search begins with one hypothesis, samples are all there from the start.
    first = ops.where(is_first, 0.0, NEVER if options.temperature is None else 0.0)
    never = ops.full((batch, width), NEVER, "float32")
    return Beam(
        step=ops.zeros((), "int32"),
        done=ops.zeros((batch,), "bool"),
        limits=limits,
        tokens=ids,
        slots=ids,
        newest=ids[:, :, 0],
        log_probabilities=ops.broadcast_to(first, (batch, width)),
        cache=decoder.empty_cache(batch, width, length),
        kept_tokens=ids,
        kept_lengths=ids[:, :, 0],
        kept_log_probabilities=never,
        kept_scores=never,
    )


def advance(beam: Beam, extend: Callable[[Beam], Beam], steps: int) -> Beam:
    """Extends by up to ``steps`` tokens, until the search of every sentence is over."""
    last = beam.step + steps

    def unfinished(beam: Beam) -> Tensor:
        return ops.logical_and(beam.step < last, ops.logical_not(ops.all(beam.done)))

    (beam,) = ops.while_loop(unfinished, lambda beam: (extend(beam),), (beam,))
    return beam


def write_slots(beam: Beam) -> tuple[Tensor, Tensor]:
    """The slots with each hypothesis in its own at this step, and which step it is.

    Returns:
      int32 ``[batch, width, length]`` and bool ``[length]``.
    """
    width, length = beam.slots.shape[1:]
    own = ops.arange(width, dtype="int32")[:, None]
    is_now = ops.equal(ops.arange(length, dtype="int32"), beam.step)
    return ops.where(is_now, own, beam.slots), is_now


def allowed_tokens(
    options: SearchOptions, step: Tensor, vocabulary: int, prefixes: Tensor | None
) -> Tensor:
    """bool, broadcast to ``[batch, width, vocabulary]``: the tokens that may come."""
    ids = ops.arange(vocabulary, dtype="int32")
    allowed = ops.not_equal(ids, PAD_ID)
    if options.min_length:
        is_early = ops.logical_and(ops.equal(ids, END_ID), step < options.min_length)
        allowed = ops.logical_and(allowed, ops.logical_not(is_early))
    if prefixes is None:
        return allowed
    place = ops.minimum(step, prefixes.shape[1] - 1)
    forced = ops.take(prefixes, place, axis=1)[:, None, None]
    is_forced = ops.logical_and(step < prefixes.shape[1], ops.not_equal(forced, PAD_ID))
    return ops.where(is_forced, ops.equal(ids, forced), allowed)
