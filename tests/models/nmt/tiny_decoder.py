"""A tiny model, every sentence it can say, and a beam search without any speed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import keras
import numpy as np

from models.nmt.beam_search import beam_search
from models.nmt.search_options import END_ID, PAD_ID, SearchOptions
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
    words = [i for i in range(model.vocabulary_size) if i != END_ID]
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
    assert len(found) == sum(4**n for n in range(limit))
    return sorted(found, key=lambda one: -one[2])


def slow_search(
    table: Mapping[tuple[int, ...], np.ndarray], options: SearchOptions, limit: int
) -> list[tuple[tuple[int, ...], float]]:
    """The definition in `SearchOptions`, word by word: ids and score."""
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[tuple[tuple[int, ...], float, bool]] = []
    for length in range(1, limit + 1):
        candidates = [
            ((*ids, token), total + gain)
            for ids, total in live
            for token, gain in enumerate(table[ids])
        ]
        candidates.sort(key=lambda one: -one[1])
        for ids, total in candidates[: options.beams]:
            ended = ids[-1] == END_ID
            if ended or length == limit:
                score = total / length**options.length_normalisation
                finished.append((ids[:-1] if ended else ids, score, ended))
        going_on = (one for one in candidates if one[0][-1] != END_ID)
        live = list(itertools.islice(going_on, options.beams))
        if len(finished) >= options.beams:
            break
    finished.sort(key=lambda one: -one[1])
    best = sorted(finished[: options.beams], key=lambda one: not one[2])
    return [(ids, score) for ids, score, _ in best][: options.nbest]


def fast_search(
    model: Transformer,
    options: SearchOptions,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    prefixes: np.ndarray | None = None,
) -> list[list[tuple[tuple[int, ...], float]]]:
    """`beam_search`, read out: ids without the end of sentence, and score."""
    found = beam_search(
        model,
        options,
        pad(sources, max(map(len, sources)) + 2),
        np.array(limits, np.int32),
        length=max(limits) + 1,
        prefixes=prefixes,
    )
    tokens, lengths, scores = map(keras.ops.convert_to_numpy, found[:3])
    return [
        [
            (tuple(ids[: length - (ids[length - 1] == END_ID)].tolist()), float(score))
            for ids, length, score in zip(*sentence, strict=True)
            if length
        ][: options.nbest]
        for sentence in zip(tokens, lengths, scores, strict=True)
    ]
