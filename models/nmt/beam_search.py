"""Beam search with a plain Keras decoder, written to be read.

`components.serve.translator` searches with CTranslate2. This is the same search
(`SearchOptions` defines it) as a function of tensors: the reference that CTranslate2 is
tested against, and what decodes where CTranslate2 cannot: inside a SavedModel, on a
TPU, and with the clipped logits of the block of Vaswani et al.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from models.nmt.cached_decoder import Cache, CachedDecoder
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions
from models.nmt.transformer import Transformer

Tensor = Any
NEVER = -1e30  # the log-probability of what is impossible


class Found(NamedTuple):
    """The ``beams`` best hypotheses of each sentence.

    Those that ended come first, then the best score.

    Attributes:
      tokens: int32 ``[batch, beams, length]``, the end of sentence included.
      lengths: int32 ``[batch, beams]``, tokens of each; 0 where there is none.
      scores: float32 ``[batch, beams]``, see `SearchOptions`.
      ended: bool ``[batch, beams]``, whether the last token is the end of sentence.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    ended: Tensor


class Beam(NamedTuple):
    """The state between two steps.

    Attributes:
      time: int32 scalar, tokens so far.
      done: bool ``[batch]``, whether the search of a sentence is over.
      tokens: int32 ``[batch, beams, length]``, the live hypotheses.
      log_probabilities: float32 ``[batch, beams]``, of the live hypotheses.
      cache: Keys and values of the live hypotheses.
      finished: The best hypotheses that are finished.
    """

    time: Tensor
    done: Tensor
    tokens: Tensor
    log_probabilities: Tensor
    cache: Cache
    finished: Found


def beam_search(
    model: Transformer,
    options: SearchOptions,
    source_ids: Tensor,
    limits: Tensor,
    *,
    length: int,
    prefixes: Tensor | None = None,
) -> Found:
    """Searches for the best translations of a batch.

    Args:
      model: A single model, built.
      options: What to search for.
      source_ids: int32 ``[batch, Ls]``, 0 is padding.
      limits: int32 ``[batch]``, most target tokens of each sentence with the end of
        sentence, from 1 to ``length``; by `SearchOptions.max_length`.
      length: Static bound of the limits.
      prefixes: int32 ``[batch, P]``, tokens to begin with, 0 after the last one; a
        prefix is shorter than its sentence's limit.
    """
    batch, beams = ops.shape(source_ids)[0], options.beams
    decoder = CachedDecoder(model, source_ids, length)
    tokens = ops.zeros((batch, beams, length), "int32")
    absent = ops.full((batch, beams), NEVER, "float32")
    beam = Beam(
        time=ops.zeros((), "int32"),
        done=ops.zeros((batch,), "bool"),
        tokens=tokens,
        # A search begins with one hypothesis.
        log_probabilities=ops.where(ops.arange(beams) == 0, 0.0, absent),
        cache=decoder.empty_cache(batch, beams),
        finished=Found(tokens, tokens[:, :, 0], absent, absent > 0),
    )

    def extend(beam: Beam) -> tuple[Beam]:
        return (_extend(decoder, options, limits, prefixes, beam),)

    (beam,) = ops.while_loop(
        lambda beam: ops.logical_not(ops.all(beam.done)), extend, (beam,)
    )
    finished = beam.finished
    _, order = ops.top_k(finished.scores + ops.where(finished.ended, 0.0, -1e9), beams)
    return Found(*(_gather(field, order) for field in finished))


def _extend(
    decoder: CachedDecoder,
    options: SearchOptions,
    limits: Tensor,
    prefixes: Tensor | None,
    beam: Beam,
) -> Beam:
    """One step; a sentence that is done keeps what it has."""
    beams, time = options.beams, beam.time
    newest = ops.take(beam.tokens, ops.maximum(time - 1, 0), axis=2)
    gains, cache = decoder.step(newest, time, beam.cache)
    vocabulary = gains.shape[-1]
    gains = _forced(gains, time, prefixes)
    totals = ops.maximum(beam.log_probabilities[:, :, None] + gains, NEVER)
    totals = ops.reshape(totals, (-1, beams * vocabulary))
    # Of 2 * beams candidates at most beams end a hypothesis.
    best, places = ops.top_k(totals, 2 * beams)
    parents = ops.cast(places // vocabulary, "int32")
    next_tokens = ops.cast(places % vocabulary, "int32")
    is_now = ops.arange(decoder.length) == time
    tokens = ops.where(is_now, next_tokens[:, :, None], _gather(beam.tokens, parents))

    is_end = ops.equal(next_tokens, END_ID)
    at_limit = time + 1 >= limits
    finishes = ops.logical_or(is_end, at_limit[:, None])
    finishes = ops.logical_and(finishes, np.arange(2 * beams) < beams)
    finishes = ops.logical_and(finishes, best > NEVER)
    finishes = ops.logical_and(finishes, ops.logical_not(beam.done)[:, None])
    penalty = ops.cast(time + 1, "float32") ** options.length_normalisation
    new = Found(
        tokens,
        ops.where(finishes, time + 1, 0),
        ops.where(finishes, best / penalty, NEVER),
        ops.logical_and(finishes, is_end),
    )
    both = Found(
        *(
            ops.concatenate([old, own], axis=1)
            for old, own in zip(beam.finished, new, strict=True)
        )
    )
    scores, order = ops.top_k(both.scores, beams)
    finished = Found(*(_gather(field, order) for field in both))

    live, order = ops.top_k(ops.where(is_end, NEVER, best), beams)
    parents = _gather(parents, order)
    return Beam(
        time=time + 1,
        done=beam.done | at_limit | (scores[:, -1] > NEVER),
        tokens=_gather(tokens, order),
        log_probabilities=live,
        cache=tuple(
            (_gather(keys, parents), _gather(values, parents)) for keys, values in cache
        ),
        finished=finished,
    )


def _forced(gains: Tensor, time: Tensor, prefixes: Tensor | None) -> Tensor:
    """Within a prefix its token is certain, the others impossible."""
    if prefixes is None or not prefixes.shape[1]:
        return gains
    last = prefixes.shape[1] - 1
    token = ops.take(prefixes, ops.minimum(time, last), axis=1)[:, None, None]
    is_forced = ops.logical_and(time <= last, token != PAD_ID)
    certain = ops.where(ops.equal(np.arange(gains.shape[-1]), token), 0.0, NEVER)
    return ops.where(is_forced, certain, gains)


def _gather(x: Tensor, places: Tensor) -> Tensor:
    """Rows of ``[batch, count, ...]`` that int32 ``[batch, chosen]`` names."""
    _, count, *rest = x.shape
    first = ops.arange(ops.shape(places)[0], dtype="int32")[:, None] * count
    rows = ops.reshape(x, (-1, *rest))
    return ops.take(rows, ops.cast(places, "int32") + first, axis=0)
