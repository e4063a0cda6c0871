"""The decoder one token at a time, for several hypotheses of each sentence.

Nothing is computed twice: the keys and values of a source once a sentence, those of
a target once a token. Hypotheses of a beam change places all the time; their keys
and values do not. Each token's stay where they were written, in the slot of the
hypothesis that had it then, and a hypothesis attends to the slots of its ancestors.
So reordering a beam moves a few integers and never the cache.

The cache is a ring: the token of time ``t`` is written at place ``t mod length``.
Sentences that began at different times share it, as a position bias knows only how
long ago a token was, and the signal of absolute positions is added before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from models.nmt.attention import MASKED, Attention
from models.nmt.layers import sinusoids
from models.nmt.projection import project
from models.nmt.transformer import Transformer

Tensor = Any

NEVER = -1e30  # the log-probability of what cannot be
# The vocabulary is padded to a multiple of this, to be searched in columns.
COLUMNS = 128


class Source(NamedTuple):
    """What the decoder sees of a batch of source sentences.

    Attributes:
      keys: One a layer, ``[batch, heads, head_dim, Ls]``.
      values: One a layer, ``[batch, heads, Ls, head_dim]``.
      bias: float32 ``[batch, 1, 1, Ls]``: 0 at a token, very negative at padding.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    bias: Tensor


class Cache(NamedTuple):
    """Keys and values of the target tokens so far.

    Attributes:
      keys: One a layer, ``[batch, heads, head_dim, length * width]``: the slots of a
        time side by side.
      values: One a layer, ``[batch, heads, length * width, head_dim]``.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


class CachedDecoder:
    """Steps of a single model's decoder, with the weights of now.

    Make it in the same function that takes the steps, before the loop: it casts and
    joins the weights.

    Args:
      model: A single model, not a stack; built.
      length: Places of the ring; no hypothesis may become longer.
    """

    def __init__(self, model: Transformer, length: int):
        if model.stack is not None:
            raise ValueError(f"{model.name}: a stack of models cannot decode")
        self.model = model
        self.length = length
        dtype = model.compute_dtype
        self._table = ops.cast((model.target_embedding or model.embedding).table, dtype)
        self._softmax = ops.cast(_padded(model.softmax.kernel), dtype)
        # [heads, length]: the bias of a token of so many steps ago.
        self._bias = (
            model.decoder_bias.between(length, 1)[0, :, :, 0]
            if model.decoder_bias is not None
            else ops.zeros((1, length))
        )

    def read(self, source_ids: Tensor) -> Source:
        """Encodes int ``[batch, Ls]``, where 0 is padding."""
        is_token = ops.cast(ops.not_equal(source_ids, 0), "int32")
        encoded = self.model.encode(source_ids, is_token)
        projected = [
            layer.cross_attention.project_memory(encoded)
            for layer in self.model.decoder_layers
        ]
        bias = ops.where(is_token[:, None, None, :] > 0, 0.0, MASKED)
        return Source(
            tuple(ops.swapaxes(keys, -1, -2) for keys, _ in projected),
            tuple(values for _, values in projected),
            bias,
        )

    def step(
        self,
        source: Source,
        cache: Cache,
        tokens: Tensor,
        slots: Tensor,
        time: Tensor,
        begun: Tensor,
    ) -> tuple[Tensor, Cache]:
        """The distribution of the next token of every hypothesis.

        Args:
          source: Of `read`.
          cache: Of the steps so far.
          tokens: int32 ``[batch, width]``, the newest token of each hypothesis; 0
            when it has none.
          slots: int32 ``[batch, width, length]``: for each place of the ring, the
            slot that held the ancestor of a hypothesis then, -1 where there was
            none, and its own at this time.
          time: int32 scalar.
          begun: int32 ``[batch]``, the time of each sentence's first token.

        Returns:
          Logits float32 ``[batch, width, padded vocabulary]``: an id of the padding
          has those of the id `COLUMNS` before it; and the longer cache.
        """
        bias = self._self_bias(slots, time)
        place = time % self.length * slots.shape[1]
        x = self._embedded(tokens, time - begun)
        all_keys, all_values = [], []
        for i, layer in enumerate(self.model.decoder_layers):
            attention = layer.attention
            queries, keys, values = attention._project(
                layer.attention_norm(x), attention.query, attention.key, attention.value
            )
            keys = ops.slice_update(
                cache.keys[i], [0, 0, 0, place], ops.swapaxes(keys, -1, -2)
            )
            values = ops.slice_update(cache.values[i], [0, 0, place, 0], values)
            scores = _scores(attention, queries, keys)
            x = x + _mixed(attention, scores, bias, values)
            attention = layer.cross_attention
            (queries,) = attention._project(layer.cross_norm(x), attention.query)
            scores = _scores(attention, queries, source.keys[i])
            x = x + _mixed(attention, scores, source.bias, source.values[i])
            x = x + layer.feedforward(layer.feedforward_norm(x))
            all_keys.append(keys)
            all_values.append(values)
        logits = ops.cast(project(self.model.decoder_norm(x), self._softmax), "float32")
        clip = self.model.shape.logit_clip
        if clip is not None:
            logits = ops.clip(logits, -clip, clip)
        return logits, Cache(tuple(all_keys), tuple(all_values))

    def _embedded(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """``[batch, width, d]`` of int ``[batch, width]`` at ``[batch]``."""
        x = ops.take(self._table, tokens, axis=0)
        if self.model.decoder_bias is not None:
            return x
        signal = sinusoids(positions, self.model.shape.d_model)
        return x + ops.cast(signal, x.dtype)[:, None]

    def _self_bias(self, slots: Tensor, time: Tensor) -> Tensor:
        """float32 ``[batch, heads, width, length * width]``.

        The position bias where a slot holds an ancestor (or the hypothesis itself),
        very negative elsewhere.
        """
        width = slots.shape[1]
        ago = (time - ops.arange(self.length, dtype="int32")) % self.length
        bias = ops.take(self._bias, ago, axis=1)
        is_ancestor = ops.equal(
            slots[:, :, :, None], ops.arange(width, dtype="int32")
        )  # [batch, width, length, width]
        bias = ops.where(is_ancestor[:, None], bias[None, :, None, :, None], MASKED)
        return ops.reshape(bias, (-1, *bias.shape[1:3], self.length * width))


def empty_source(model: Transformer, batch: int, length: int) -> Source:
    """The shapes of `CachedDecoder.read`, all padding."""
    shape, dtype = model.shape, model.compute_dtype
    keys = ops.zeros((batch, shape.heads, shape.head_dim, length), dtype)
    values = ops.zeros((batch, shape.heads, length, shape.head_dim), dtype)
    return Source(
        (keys,) * shape.dec_layers,
        (values,) * shape.dec_layers,
        ops.full((batch, 1, 1, length), MASKED, "float32"),
    )


def empty_cache(model: Transformer, batch: int, width: int, length: int) -> Cache:
    """A cache for ``width`` hypotheses a sentence, in rings of ``length`` places."""
    shape = model.shape
    joined, dtype = length * width, model.compute_dtype
    keys = ops.zeros((batch, shape.heads, shape.head_dim, joined), dtype)
    values = ops.zeros((batch, shape.heads, joined, shape.head_dim), dtype)
    return Cache((keys,) * shape.dec_layers, (values,) * shape.dec_layers)


def _padded(kernel: Tensor) -> Tensor:
    """``[d, vocabulary]`` to a multiple of `COLUMNS` ids.

    An id of the padding repeats the one above it in its column, so that it never
    changes the maximum of a column.
    """
    vocabulary = kernel.shape[1]
    rows = -(-vocabulary // COLUMNS)
    ids = np.arange(rows * COLUMNS)
    above = np.where(ids < vocabulary, ids, np.maximum(ids - COLUMNS, 0))
    return ops.take(kernel, np.minimum(above, vocabulary - 1), axis=1)


def _scores(attention: Attention, queries: Tensor, keys: Tensor) -> Tensor:
    """``[..., width, dim]`` and ``[..., dim, keys]`` to ``[..., width, keys]``."""
    if attention.scale is not None:
        queries = queries * attention.scale
    return ops.matmul(queries, keys)


def _mixed(attention: Attention, scores: Tensor, bias: Tensor, values: Tensor):
    """Values mixed by the softmax of scores and bias, projected to the stream.

    Args:
      scores: ``[batch, heads, width, keys]``.
      bias: float32, broadcast to the scores.
      values: ``[batch, heads, keys, head_dim]``.

    Returns:
      ``[batch, width, d]``.
    """
    scores = ops.cast(scores, "float32") + bias
    weights = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
    total = ops.sum(weights, axis=-1, keepdims=True)
    # Divided after the product, which has fewer numbers.
    dtype = attention.compute_dtype
    mixed = ops.matmul(ops.cast(weights, dtype), values) / ops.cast(total, dtype)
    width, inner = scores.shape[2], attention.heads * attention.head_dim
    merged = ops.reshape(ops.swapaxes(mixed, 1, 2), (-1, width, inner))
    return attention.output_projection(merged)
