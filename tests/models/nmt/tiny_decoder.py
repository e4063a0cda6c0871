"""A tiny model, every sentence it can say, and a beam search without any speed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import keras
import numpy as np

from models.nmt.beam_search import SearchOptions
from models.nmt.decoding import decode
from models.nmt.search_options import END_ID, PAD_ID
from models.nmt.sizes import Shape
from models.nmt.transformer import Transformer

# Nothing equal to anything else: depths, heads x head_dim != d, ff != 4 d.
ODD = Shape("odd", 2, 3, 12, 2, 5, 20)


def build(vocabulary: int = 5, seed: int = 3, shape: Shape = ODD) -> Transformer:
    """A random model; sharper than at the start of training, so that ranks differ."""
    model = Transformer(shape, vocabulary)
    model.build()
    model.initialise([seed])
    model.softmax.kernel.assign(model.softmax.kernel * 1.5)
    return model


def pad(rows: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """int32 ``[rows, length]``."""
    filled = [[*row, *[PAD_ID] * (length - len(row))] for row in rows]
    return np.array(filled, np.int32)


def log_probabilities(
    model: Transformer, source: Sequence[int], targets: Sequence[Sequence[int]]
) -> np.ndarray:
    """Teacher forcing: float32 ``[targets, length, vocabulary]``."""
    target = pad(targets, max(map(len, targets)))
    source = np.tile(np.array(source, np.int32), (len(target), 1))
    logits = model(source, np.ones_like(source), target, np.ones_like(target))
    return keras.ops.convert_to_numpy(keras.ops.log_softmax(logits, axis=-1))


def likelihood(model: Transformer, source: Sequence[int], target: Sequence[int]):
    """Log-probability of one target sentence, as it stands."""
    found = log_probabilities(model, source, [target])[0]
    return float(found[np.arange(len(target)), target].sum())


def next_token_table(
    model: Transformer, source: Sequence[int], limit: int
) -> dict[tuple[int, ...], np.ndarray]:
    """Log-probabilities of the next token after every beginning of a sentence."""
    words = range(END_ID + 1, model.vocabulary_size)
    longest = list(itertools.product(words, repeat=limit - 1))
    found = log_probabilities(model, source, [[*one, END_ID] for one in longest])
    return {one[:n]: found[i, n] for i, one in enumerate(longest) for n in range(limit)}


def every_sentence(
    table: Mapping[tuple[int, ...], np.ndarray], limit: int, alpha: float
) -> list[tuple[tuple[int, ...], float, float]]:
    """Ids, log-probability and score of all that end within the limit, best first."""
    found = []
    for beginning in (ids for ids in table if len(ids) < limit):
        total = sum(table[beginning[:n]][t] for n, t in enumerate(beginning))
        total += table[beginning][END_ID]
        score = total / (len(beginning) + 1) ** alpha
        found.append((beginning, total, score))
    assert len(found) == sum(3**n for n in range(limit))
    return sorted(found, key=lambda one: -one[2])


def slow_search(
    table: Mapping[tuple[int, ...], np.ndarray], options: SearchOptions, limit: int
) -> list[tuple[tuple[int, ...], float]]:
    """The definition in `SearchOptions`, word by word; ``exact`` never stops early."""
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    kept: list[tuple[tuple[int, ...], float, float]] = []
    for length in range(1, limit + 1):
        extensions = [
            (ids, token, total + table[ids][token])
            for ids, total in live
            for token in range(END_ID, len(table[ids]))
            if token != END_ID or len(ids) >= options.min_length
        ]
        extensions.sort(key=lambda one: -one[2])
        for ids, token, total in extensions[: options.beams]:
            if token == END_ID:
                score = total / length**options.length_normalisation
                kept.append((ids, total, score))
        live = [
            ((*ids, token), total) for ids, token, total in extensions if token > END_ID
        ][: options.beams]
        if options.stopping == "full" and len(kept) >= options.beams:
            break
    kept.sort(key=lambda one: -one[2])
    ended = [(ids, total) for ids, total, _ in kept]
    return (ended + (live if len(live[0][0]) == limit else []))[: options.nbest]


def fast_search(
    model: Transformer,
    options: SearchOptions,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    **given,
) -> list[list[tuple[tuple[int, ...], float]]]:
    """`decode`, read out: ids without the end of sentence, and log-probability."""
    beam = decode(
        model,
        options,
        pad(sources, max(map(len, sources)) + 2),
        np.array(limits, np.int32),
        length=max(limits) + 1,
        **given,
    )
    tokens, lengths, totals = (
        keras.ops.convert_to_numpy(x)
        for x in (beam.kept_tokens, beam.kept_lengths, beam.kept_log_probabilities)
    )
    return [
        [
            (tuple(t for t in ids[:length].tolist() if t != END_ID), float(total))
            for ids, length, total in zip(*sentence, strict=True)
            if length
        ][: options.nbest]
        for sentence in zip(tokens, lengths, totals, strict=True)
    ]
