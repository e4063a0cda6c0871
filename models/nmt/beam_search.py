"""One step of beam search.

What is searched for, and when a search ends, is defined in `SearchOptions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from models.nmt.cached_decoder import CachedDecoder, Source
from models.nmt.search import NEVER, NOT_ENDED, Beam, allowed_tokens, write_slots
from models.nmt.search_options import END_ID, SearchOptions

Tensor = Any


class _Extensions(NamedTuple):
    """The best extensions of each sentence's live hypotheses, best first.

    Attributes:
      parents, tokens: int32 ``[batch, count]``: which hypothesis, by which token.
      log_probabilities: float32 ``[batch, count]``.
    """

    parents: Tensor
    tokens: Tensor
    log_probabilities: Tensor


def extend(
    decoder: CachedDecoder,
    options: SearchOptions,
    source: Source,
    beam: Beam,
    prefixes: Tensor | None = None,
) -> Beam:
    """One step; sentences that are done keep what they have.

    Args:
      decoder: Of the model.
      options: Of the search.
      source: The sentences.
      beam: The state so far.
      prefixes: int32 ``[batch, P]``, tokens that every hypothesis begins with; 0
        after a sentence's last one.
    """
    width = beam.tokens.shape[1]
    slots, is_now = write_slots(beam)
    logits, cache = decoder.step(source, beam.cache, beam.newest, slots, beam.step)
    found = _best_extensions(options, beam, logits, prefixes)
    ends = ops.equal(found.tokens, END_ID)
    live_log_probabilities, chosen = ops.top_k(
        ops.where(ends, 2 * NEVER, found.log_probabilities), width
    )
    parents = ops.take_along_axis(found.parents, chosen, axis=1)
    newest = ops.take_along_axis(found.tokens, chosen, axis=1)
    tokens = ops.where(is_now, newest[:, :, None], _of(beam.tokens, parents))
    ended = found._replace(
        log_probabilities=ops.where(
            ops.logical_and(ends, ops.arange(ends.shape[1]) < width),
            found.log_probabilities,
            2 * NEVER,
        )
    )
    beam = beam._replace(
        tokens=tokens,
        slots=_of(slots, parents),
        newest=newest,
        log_probabilities=ops.maximum(live_log_probabilities, NEVER),
        cache=cache,
        **_kept(options, beam, ended, is_now, tokens, live_log_probabilities),
    )
    return beam._replace(step=beam.step + 1, done=_is_over(options, beam))


def _best_extensions(
    options: SearchOptions, beam: Beam, logits: Tensor, prefixes: Tensor | None
) -> _Extensions:
    """The ``2 * width`` best, or all that there are."""
    batch, width, vocabulary = logits.shape
    normaliser = ops.logsumexp(logits, axis=-1, keepdims=True)
    allowed = allowed_tokens(options, beam.step, vocabulary, prefixes)
    each = min(2 * width, vocabulary)
    best, tokens = ops.top_k(ops.where(allowed, logits, 2 * NEVER), each)
    total = beam.log_probabilities[:, :, None] + (best - normaliser)
    total, places = ops.top_k(ops.reshape(total, (batch, -1)), 2 * width)
    tokens = ops.take_along_axis(ops.reshape(tokens, (batch, -1)), places, axis=1)
    return _Extensions(
        ops.cast(places // each, "int32"), ops.cast(tokens, "int32"), total
    )


def _kept(
    options: SearchOptions,
    beam: Beam,
    ended: _Extensions,
    is_now: Tensor,
    tokens: Tensor,
    live: Tensor,
) -> dict[str, Tensor]:
    """The kept hypotheses after a step, best first.

    Args:
      beam: The state before the step.
      ended: Those that came to their end at this step; `NEVER` for the rest.
      is_now: bool ``[length]``, true at this step.
      tokens: int32 ``[batch, width, length]``, what lives on,
      live: float32 ``[batch, width]``, and its log-probabilities.
    """
    width = tokens.shape[1]
    count = beam.step + 1
    penalty = ops.cast(count, "float32") ** options.length_normalisation
    rank = ops.arange(1, width + 1, dtype="float32")
    at_limit = ops.equal(count, beam.limits)[:, None]
    added = ops.concatenate([ended.log_probabilities, live], axis=1)
    scores = ops.concatenate(
        [
            ended.log_probabilities / penalty,
            ops.where(ops.logical_and(at_limit, live > NEVER), NOT_ENDED * rank, NEVER),
        ],
        axis=1,
    )
    counts = ops.where(added > NEVER, count, 0)
    scores = ops.where(
        ops.logical_or(beam.done[:, None], added <= NEVER), 2 * NEVER, scores
    )
    ended_tokens = ops.where(is_now, END_ID, _of(beam.tokens, ended.parents))
    best, places = ops.top_k(ops.concatenate([beam.kept_scores, scores], axis=1), width)

    def chosen(old: Tensor, new: Tensor) -> Tensor:
        return _of(ops.concatenate([old, new], axis=1), places)

    return {
        "kept_scores": best,
        "kept_tokens": chosen(
            beam.kept_tokens, ops.concatenate([ended_tokens, tokens], axis=1)
        ),
        "kept_lengths": chosen(beam.kept_lengths, counts),
        "kept_log_probabilities": chosen(beam.kept_log_probabilities, added),
    }


def _is_over(options: SearchOptions, beam: Beam) -> Tensor:
    """bool ``[batch]``; ``beam.step`` is still that of the step just taken."""
    worst, best_live = beam.kept_scores[:, -1], beam.log_probabilities[:, 0]
    over = worst > NOT_ENDED
    if options.stopping == "exact":
        longest = ops.cast(beam.limits, "float32") ** options.length_normalisation
        over = ops.logical_and(over, best_live / longest <= worst)
    over = ops.logical_or(over, beam.step + 1 >= beam.limits)
    over = ops.logical_or(over, best_live <= NEVER)
    return ops.logical_or(beam.done, over)


def _of(x: Tensor, places: Tensor) -> Tensor:
    """Rows of ``[batch, count, ...]`` that ``[batch, chosen]`` names."""
    places = ops.reshape(places, (*places.shape, *[1] * (len(x.shape) - 2)))
    return ops.take_along_axis(x, places, axis=1)
