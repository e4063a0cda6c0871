"""The state of a search and its loop, shared by beam search and sampling.

A batch is a row of seats. A sentence takes a free seat, stays until its search is
over, and leaves it to another; the sentences of a batch may so be at different
lengths. Shapes are static throughout: what differs between sentences is masked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from models.nmt.cached_decoder import (
    NEVER,
    Cache,
    Source,
    empty_cache,
    empty_source,
)
from models.nmt.search_options import SearchOptions
from models.nmt.transformer import Transformer

Tensor = Any


class Sentences(NamedTuple):
    """What is given about the sentence in each seat.

    Attributes:
      source: What the decoder sees of it.
      limits: int32 ``[batch]``, maximum target length, at least 1.
      prefixes: int32 ``[batch, P]``, the tokens that every hypothesis begins with, 0
        after the last one.
      uniforms: float32 ``[batch, width, length]`` in [0, 1), the chance in the
        samples, one number a token; ``[batch, 0, 0]`` unless sampling.
    """

    source: Source
    limits: Tensor
    prefixes: Tensor
    uniforms: Tensor


class Beam(NamedTuple):
    """The search of a batch of sentences between two steps.

    ``length`` is the decoder's; arrays with that axis are rings, in which time
    ``t`` has place ``t mod length``.

    Attributes:
      time: int32 scalar, steps so far.
      begun: int32 ``[batch]``, the time when each sentence took its seat.
      done: bool ``[batch]``, whether the search is over, or the seat is free.
      tokens: int32 ``[batch, width, length]``, the live hypotheses.
      slots: int32 ``[batch, width, length]``, see `CachedDecoder.step`.
      newest: int32 ``[batch, width]``, the last token of each; 0 at first.
      log_probabilities: float32 ``[batch, width]``, best first.
      cache: Keys and values.
      kept_tokens: int32 ``[batch, width, length]``, the hypotheses that were kept,
        with their end of sentence.
      kept_lengths: int32 ``[batch, width]``; 0 where there is none.
      kept_log_probabilities: float32 ``[batch, width]``.
      kept_scores: float32 ``[batch, width]``, best first. Those that did not end
        have a multiple of `beam_search.NOT_ENDED` instead.
    """

    time: Tensor
    begun: Tensor
    done: Tensor
    tokens: Tensor
    slots: Tensor
    newest: Tensor
    log_probabilities: Tensor
    cache: Cache
    kept_tokens: Tensor
    kept_lengths: Tensor
    kept_log_probabilities: Tensor
    kept_scores: Tensor


def free_seats(
    model: Transformer,
    options: SearchOptions,
    *,
    batch: int,
    length: int,
    source_length: int,
    prefix_length: int = 0,
) -> tuple[Sentences, Beam]:
    """A batch in which no seat is taken.

    Args:
      model: That will be decoded with.
      options: Of the search.
      batch: Seats.
      length: Places of the rings: most target tokens.
      source_length: Most source tokens.
      prefix_length: Most tokens of a prefix.
    """
    width = options.width
    uniforms = (batch, width, length) if options.samples else (batch, 0, 0)
    sentences = Sentences(
        empty_source(model, batch, source_length),
        limits=ops.ones((batch,), "int32"),
        prefixes=ops.zeros((batch, prefix_length), "int32"),
        uniforms=ops.zeros(uniforms, "float32"),
    )
    ids = ops.zeros((batch, width, length), "int32")
    numbers = ops.zeros((batch, width), "float32")
    beam = Beam(
        time=ops.zeros((), "int32"),
        begun=ops.zeros((batch,), "int32"),
        done=ops.ones((batch,), "bool"),
        tokens=ids,
        slots=ids,
        newest=ids[:, :, 0],
        log_probabilities=numbers,
        cache=empty_cache(model, batch, width, length),
        kept_tokens=ids,
        kept_lengths=ids[:, :, 0],
        kept_log_probabilities=numbers,
        kept_scores=numbers,
    )
    return sentences, beam


def seat(
    options: SearchOptions,
    sentences: Sentences,
    beam: Beam,
    arrived: Sentences,
    places: Tensor,
) -> tuple[Sentences, Beam]:
    """Gives seats to sentences.

    Args:
      options: Of the search.
      sentences, beam: The batch.
      arrived: Any number of sentences, one a row.
      places: int32 ``[batch]``: the row of ``arrived`` that takes each seat, or -1
        where the seat stays as it is, or -2 where it becomes free.
    """
    takes = places >= 0
    row = ops.maximum(places, 0)

    def given(old: Tensor, new: Tensor) -> Tensor:
        return _where(takes, ops.take(new, row, axis=0), old)

    source = Source(
        tuple(map(given, sentences.source.keys, arrived.source.keys)),
        tuple(map(given, sentences.source.values, arrived.source.values)),
        given(sentences.source.bias, arrived.source.bias),
    )
    sentences = Sentences(
        source, *(given(a, b) for a, b in zip(sentences[1:], arrived[1:], strict=True))
    )
    # A search begins with one hypothesis; samples are all there from the start.
    absent = 0.0 if options.samples else NEVER
    first = ops.where(ops.equal(ops.arange(options.width), 0), 0.0, absent)
    beam = beam._replace(
        begun=_where(takes, beam.time, beam.begun),
        done=_where(takes, False, ops.logical_or(beam.done, places < -1)),
        slots=_where(takes, -1, beam.slots),
        newest=_where(takes, 0, beam.newest),
        log_probabilities=_where(takes, first, beam.log_probabilities),
        kept_lengths=_where(takes, 0, beam.kept_lengths),
        kept_log_probabilities=_where(takes, NEVER, beam.kept_log_probabilities),
        kept_scores=_where(takes, NEVER, beam.kept_scores),
    )
    return sentences, beam


def advance(beam: Beam, extend: Callable[[Beam], Beam], leaving: Tensor) -> Beam:
    """Extends all hypotheses until there is something to do about the seats.

    Args:
      beam: The state.
      extend: Takes one step.
      leaving: int32 scalar, at least 1: how many sentences that are in the batch
        now should have come to an end. It stops earlier when all have, or when the
        ring has no place left for a hypothesis (`is_full`).
    """
    enough = ops.minimum(_count(beam.done) + leaving, ops.size(beam.done))

    def goes_on(beam: Beam) -> Tensor:
        return ops.logical_and(
            _count(beam.done) < enough, ops.logical_not(ops.any(is_full(beam)))
        )

    (beam,) = ops.while_loop(goes_on, lambda beam: (extend(beam),), (beam,))
    return beam


def is_full(beam: Beam) -> Tensor:
    """bool ``[batch]``: unfinished, and as long as the ring. It has to leave."""
    length = beam.tokens.shape[2]
    is_long = beam.time - beam.begun >= length
    return ops.logical_and(is_long, ops.logical_not(beam.done))


def now(beam: Beam) -> Tensor:
    """bool ``[length]``, true at the place in the rings of the step being taken."""
    length = beam.tokens.shape[2]
    return ops.equal(ops.arange(length, dtype="int32"), beam.time % length)


def own_slots(beam: Beam) -> Tensor:
    """``beam.slots`` with each hypothesis in its own at this step."""
    width = beam.slots.shape[1]
    own = ops.arange(width, dtype="int32")[:, None]
    return ops.where(now(beam), own, beam.slots)


def forced_tokens(sentences: Sentences, beam: Beam) -> Tensor | None:
    """int32 ``[batch, 1]``: the token that the prefix has at this step; 0 if none.

    ``None`` when no sentence has a prefix.
    """
    length = sentences.prefixes.shape[1]
    if not length:
        return None
    age = (beam.time - beam.begun)[:, None]
    inside = ops.clip(age, 0, length - 1)
    token = ops.take_along_axis(sentences.prefixes, inside, axis=1)
    return ops.where(age < length, token, 0)


def _count(done: Tensor) -> Tensor:
    return ops.sum(ops.cast(done, "int32"))


def _where(condition: Tensor, new: Tensor | float, old: Tensor) -> Tensor:
    """``condition`` is ``[batch]``, the others begin with that axis or broadcast."""
    condition = ops.reshape(condition, (-1, *[1] * (len(old.shape) - 1)))
    return ops.where(condition, ops.cast(new, old.dtype), old)
