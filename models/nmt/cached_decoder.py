"""The decoder one token at a time, with a cache of keys and values."""

from __future__ import annotations

from typing import Any

from keras import ops

from models.nmt.attention import MASKED, Attention
from models.nmt.layers import sinusoids
from models.nmt.search_options import PAD_ID
from models.nmt.transformer import Transformer

Tensor = Any
Cache = tuple[tuple[Tensor, Tensor], ...]
"""Keys and values of the target tokens so far, a pair a layer, ``[batch, hypotheses,
heads, length, head_dim]`` each."""


class CachedDecoder:
    """The decoder one token at a time, for several hypotheses of each sentence.

    Args:
      model: A single model, built.
      source_ids: int32 ``[batch, Ls]``, 0 is padding.
      length: Most target tokens.
    """

    def __init__(self, model: Transformer, source_ids: Tensor, length: int):
        if model.stack is not None:
            raise ValueError(f"{model.name}: a stack of models cannot decode")
        self.model, self.length = model, length
        is_token = ops.cast(ops.not_equal(source_ids, PAD_ID), "int32")
        encoded = model.encode(source_ids, is_token)
        # Keys and values of the source, once for all hypotheses of a sentence.
        self._memory = [
            layer.cross_attention.project_memory(encoded)
            for layer in model.decoder_layers
        ]
        self._source_bias = ops.where(is_token[:, None, None, :] > 0, 0.0, MASKED)
        # [heads, length]: the bias of a token of so many steps ago.
        self._distance_bias = (
            model.decoder_bias.between(length, 1)[0, :, :, 0]
            if model.decoder_bias is not None
            else ops.zeros((1, length))
        )

    def empty_cache(self, batch: int, hypotheses: int) -> Cache:
        """The cache before the first step."""
        shape = self.model.shape
        size = (batch, hypotheses, shape.heads, self.length, shape.head_dim)
        empty = ops.zeros(size, self.model.compute_dtype)
        return ((empty, empty),) * shape.dec_layers

    def step(self, tokens: Tensor, time: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """Log-probabilities of the next token.

        Args:
          tokens: int32 ``[batch, hypotheses]``, the newest tokens; 0 at first.
          time: int32 scalar, their position.
          cache: Of the steps before.

        Returns:
          float32 ``[batch, hypotheses, vocabulary]`` and the longer cache.
        """
        model = self.model
        table = (model.target_embedding or model.embedding).table
        x = ops.take(ops.cast(table, model.compute_dtype), tokens, axis=0)
        if model.decoder_bias is None:
            x = x + ops.cast(sinusoids(time, model.shape.d_model), x.dtype)
        ago = time - ops.arange(self.length, dtype="int32")
        bias = ops.take(self._distance_bias, ops.maximum(ago, 0), axis=1)
        bias = ops.where(ago >= 0, bias, MASKED)
        longer = []
        for i, layer in enumerate(model.decoder_layers):
            attention, normed = layer.attention, layer.attention_norm(x)
            place = [0, 0, 0, time, 0]
            key = _heads(attention, attention.key(normed))[:, :, :, None]
            value = _heads(attention, attention.value(normed))[:, :, :, None]
            keys = ops.slice_update(cache[i][0], place, key)
            values = ops.slice_update(cache[i][1], place, value)
            longer.append((keys, values))
            x = x + _attend(attention, normed, keys, values, bias)
            normed = layer.cross_norm(x)
            x = x + _attend(
                layer.cross_attention, normed, *self._memory[i], self._source_bias
            )
            x = x + layer.feedforward(layer.feedforward_norm(x))
        logits = ops.cast(model.project(model.decoder_norm(x)), "float32")
        return ops.log_softmax(logits, axis=-1), tuple(longer)


def _attend(
    attention: Attention, x: Tensor, keys: Tensor, values: Tensor, bias: Tensor
) -> Tensor:
    """Attention of one token of each hypothesis, ``[batch, hypotheses, d]``.

    Args:
      x: ``[batch, hypotheses, d]``.
      keys, values: ``[batch, heads, L, head_dim]``, or those of each hypothesis,
        ``[batch, hypotheses, heads, L, head_dim]``.
      bias: Broadcast to ``[batch, hypotheses, heads, L]``.
    """
    own = "w" if len(keys.shape) == 5 else ""
    queries = _heads(attention, attention.query(x))
    if attention.scale is not None:
        queries = queries * attention.scale
    scores = ops.einsum(f"bwhd,b{own}hld->bwhl", queries, keys)
    weights = ops.softmax(ops.cast(scores, "float32") + bias, axis=-1)
    weights = ops.cast(weights, values.dtype)
    mixed = ops.einsum(f"bwhl,b{own}hld->bwhd", weights, values)
    inner = attention.heads * attention.head_dim
    return attention.output_projection(ops.reshape(mixed, (-1, x.shape[1], inner)))


def _heads(attention: Attention, x: Tensor) -> Tensor:
    """``[batch, hypotheses, heads * head_dim]`` with the last axis split."""
    return ops.reshape(x, (-1, x.shape[1], attention.heads, attention.head_dim))
