"""One step of beam search.

What is searched for, and when a search ends, is defined in `SearchOptions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from models.nmt.cached_decoder import COLUMNS, NEVER, CachedDecoder
from models.nmt.search import Beam, Sentences, forced_tokens, now, own_slots
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions

Tensor = Any

# Hypotheses that have not ended come after all that have: their place is their rank.
NOT_ENDED = -1e9


class _Extensions(NamedTuple):
    """The best ways to go on, and the ways to end.

    Attributes:
      parents, tokens: int32 ``[batch, width]``: which hypothesis goes on with which
        token.
      live: float32 ``[batch, width]``, its log-probability, best first.
      ended: float32 ``[batch, width]``: the log-probability of each hypothesis with
        the end of sentence, `NEVER` where that is not among the best ``width``.
    """

    parents: Tensor
    tokens: Tensor
    live: Tensor
    ended: Tensor
    offset: Tensor


def extend(
    decoder: CachedDecoder, options: SearchOptions, sentences: Sentences, beam: Beam
) -> Beam:
    """One step; sentences that are done keep what they have."""
    slots = own_slots(beam)
    logits, cache = decoder.step(
        sentences.source, beam.cache, beam.newest, slots, beam.time, beam.begun
    )
    found = _best_extensions(options, beam, logits, decoder.model.vocabulary_size)
    forced = forced_tokens(sentences, beam)
    if forced is not None:
        found = _forced(found, beam, logits, forced)
    tokens = ops.where(
        now(beam), found.tokens[:, :, None], _of(beam.tokens, found.parents)
    )
    kept = _kept(options, sentences, beam, found, tokens)
    beam = beam._replace(
        time=beam.time + 1,
        tokens=tokens,
        slots=_of(slots, found.parents),
        newest=found.tokens,
        log_probabilities=found.live,
        cache=cache,
        **kept,
    )
    return beam._replace(done=_is_over(options, sentences, beam))


def _best_extensions(
    options: SearchOptions, beam: Beam, logits: Tensor, vocabulary: int
) -> _Extensions:
    """Finds them in columns of the vocabulary, with one pass over all of it.

    The ids are laid out as a grid of `COLUMNS` columns. The best ``width`` tokens are
    in the ``width`` columns with the best maxima, so that only these are sorted.
    """
    width, padded = logits.shape[1:]
    rows = padded // COLUMNS
    grid = ops.reshape(logits, (-1, width, rows, COLUMNS))
    maxima = ops.max(grid, axis=2)
    # Of these columns not all tokens may come; they are looked at in any case.
    special = END_ID + 1
    column = np.arange(COLUMNS)
    is_other = (column >= special) & (column < vocabulary)
    others = ops.where(is_other, maxima, NEVER)
    top = ops.maximum(
        ops.max(others, axis=-1), ops.max(maxima[:, :, :special], axis=-1)
    )
    mass = ops.sum(ops.exp(logits[:, :, :vocabulary] - top[:, :, None]), axis=-1)
    offset = beam.log_probabilities - top - ops.log(mass)

    totals = ops.reshape(others + offset[:, :, None], (-1, width * COLUMNS))
    _, best = ops.top_k(totals, width)
    every = np.arange(width)[:, None] * COLUMNS + np.arange(special)
    every = ops.broadcast_to(every.reshape(-1), (best.shape[0], width * special))
    columns = ops.concatenate([best, ops.cast(every, best.dtype)], axis=1)
    parents = columns // COLUMNS  # [batch, columns]
    tokens = (columns % COLUMNS)[:, :, None] + np.arange(0, padded, COLUMNS)
    tokens = ops.cast(tokens, "int32")  # [batch, columns, rows]
    places = parents[:, :, None] * padded + tokens
    totals = _of(ops.reshape(logits, (-1, width * padded)), _flat(places))
    totals = ops.reshape(totals, tokens.shape) + _of(offset, parents)[:, :, None]
    may_come = ops.logical_and(tokens > END_ID, tokens < vocabulary)
    totals = ops.where(may_come, totals, NEVER)
    live, best = ops.top_k(_flat(totals), width)
    return _Extensions(
        parents=_of(ops.cast(parents, "int32"), best // rows),
        tokens=ops.where(live > NEVER, _of(_flat(tokens), best), PAD_ID),
        live=ops.maximum(live, NEVER),
        ended=_ended(options, beam, offset + logits[:, :, END_ID], live),
        offset=offset,
    )


def _ended(options: SearchOptions, beam: Beam, end: Tensor, live: Tensor) -> Tensor:
    """``end`` where it is among the best ``width`` of all extensions, else `NEVER`.

    Args:
      end: float32 ``[batch, width]``: each hypothesis with the end of sentence.
      live: float32 ``[batch, width]``, the best other extensions.
    """
    if options.min_length:
        age = (beam.time - beam.begun)[:, None]
        end = ops.where(age < options.min_length, NEVER, end)
    others = ops.concatenate([live, end], axis=1)
    better = ops.greater(others[:, None, :], end[:, :, None])
    rank = ops.sum(ops.cast(better, "int32"), axis=-1)
    return ops.where(rank < live.shape[1], ops.maximum(end, NEVER), NEVER)


def _forced(found: _Extensions, beam: Beam, logits: Tensor, token: Tensor):
    """The same, where a prefix leaves a sentence no choice.

    Args:
      token: int32 ``[batch, 1]``, the token of the prefix, 0 where it is over.
    """
    is_forced = token > 0
    width, padded = logits.shape[1:]
    same = ops.arange(width, dtype="int32")
    logit = _of(ops.reshape(logits, (-1, width * padded)), same * padded + token)
    return found._replace(
        parents=ops.where(is_forced, same, found.parents),
        tokens=ops.where(is_forced, token, found.tokens),
        live=ops.where(is_forced, ops.maximum(found.offset + logit, NEVER), found.live),
        ended=ops.where(is_forced, NEVER, found.ended),
    )


def _kept(
    options: SearchOptions,
    sentences: Sentences,
    beam: Beam,
    found: _Extensions,
    tokens: Tensor,
) -> dict[str, Tensor]:
    """The kept hypotheses after a step, best first.

    Args:
      beam: The state before the step.
      found: How it goes on.
      tokens: int32 ``[batch, width, length]``: those that go on.
    """
    count = beam.time - beam.begun + 1
    penalty = ops.cast(count, "float32") ** options.length_normalisation
    at_limit = ops.equal(count, sentences.limits)
    rank = ops.arange(1, tokens.shape[1] + 1, dtype="float32")
    scores = ops.concatenate(
        [
            ops.where(found.ended > NEVER, found.ended / penalty[:, None], NEVER),
            ops.where(
                ops.logical_and(at_limit[:, None], found.live > NEVER),
                NOT_ENDED * rank,
                NEVER,
            ),
        ],
        axis=1,
    )
    scores = ops.where(beam.done[:, None], NEVER, scores)
    ended_tokens = ops.where(now(beam), END_ID, beam.tokens)
    best, places = ops.top_k(
        ops.concatenate([beam.kept_scores, scores], axis=1), tokens.shape[1]
    )

    def chosen(old: Tensor, *new: Tensor) -> Tensor:
        return _of(ops.concatenate([old, *new], axis=1), places)

    return {
        "kept_scores": best,
        "kept_tokens": chosen(beam.kept_tokens, ended_tokens, tokens),
        "kept_lengths": chosen(
            beam.kept_lengths, ops.where(scores > NEVER, count[:, None], 0)
        ),
        "kept_log_probabilities": chosen(
            beam.kept_log_probabilities, found.ended, found.live
        ),
    }


def _is_over(options: SearchOptions, sentences: Sentences, beam: Beam) -> Tensor:
    """bool ``[batch]``, after a step."""
    worst, best_live = beam.kept_scores[:, -1], beam.log_probabilities[:, 0]
    over = worst > NOT_ENDED
    if options.stopping == "exact":
        longest = ops.cast(sentences.limits, "float32") ** options.length_normalisation
        over = ops.logical_and(over, best_live / longest <= worst)
    over = ops.logical_or(over, beam.time - beam.begun >= sentences.limits)
    over = ops.logical_or(over, best_live <= NEVER)
    return ops.logical_or(beam.done, over)


def _flat(x: Tensor) -> Tensor:
    """``[batch, count, rows]`` to ``[batch, count * rows]``."""
    return ops.reshape(x, (-1, x.shape[1] * x.shape[2]))


def _of(x: Tensor, places: Tensor) -> Tensor:
    """Rows of ``[batch, count, ...]`` that int32 ``[batch, chosen]`` names.

    What `take_along_axis` does along the second axis, without spreading the places
    over all of a row.
    """
    batch, count, *rest = x.shape
    first = ops.arange(batch, dtype="int32")[:, None] * count
    rows = ops.reshape(x, (batch * count, *rest))
    return ops.take(rows, ops.cast(places, "int32") + first, axis=0)
