"""The decoder one token at a time, for several hypotheses of each sentence.

Nothing is computed twice: the keys and values of the source once a sentence, those
of the target once a token. Hypotheses of a beam change places all the time; their
keys and values do not. Each token's stay where they were written, in the slot of
the hypothesis that had it then, and a hypothesis attends to the slots of its
ancestors. So reordering a beam moves a few integers and never the cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from models.nmt.attention import MASKED, Attention
from models.nmt.projection import project
from models.nmt.transformer import Transformer

Tensor = Any


class Source(NamedTuple):
    """What the decoder sees of a batch of source sentences.

    Attributes:
      keys, values: One a layer, ``[batch, heads, Ls, head_dim]``.
      bias: float32 ``[batch, 1, 1, Ls]``: 0 at a token, very negative at padding.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    bias: Tensor


class Cache(NamedTuple):
    """Keys and values of the target tokens so far.

    Attributes:
      keys, values: One a layer, ``[batch, heads, length, width, head_dim]``.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


class CachedDecoder:
    """Steps of a single model's decoder.

    Args:
      model: A single model, not a stack.
    """

    def __init__(self, model: Transformer):
        if model.stack is not None:
            raise ValueError(f"{model.name}: a stack of models cannot decode")
        self.model = model
        self.layers = model.decoder_layers

    def read(self, source_ids: Tensor) -> Source:
        """Encodes int ``[batch, Ls]``, where 0 is padding."""
        is_token = ops.cast(ops.not_equal(source_ids, 0), "int32")
        encoded = self.model.encode(source_ids, is_token)
        projected = [
            layer.cross_attention.project_memory(encoded) for layer in self.layers
        ]
        bias = ops.where(is_token[:, None, None, :] > 0, 0.0, MASKED)
        return Source(
            tuple(keys for keys, _ in projected),
            tuple(values for _, values in projected),
            bias,
        )

    def empty_cache(self, batch: int, width: int, length: int) -> Cache:
        """A cache for ``width`` hypotheses of up to ``length`` tokens."""
        shape = self.model.shape
        full = (batch, shape.heads, length, width, shape.head_dim)
        dtype = self.model.compute_dtype
        zeros = tuple(ops.zeros(full, dtype) for _ in self.layers)
        return Cache(zeros, zeros)

    def step(
        self, source: Source, cache: Cache, tokens: Tensor, slots: Tensor, step: Tensor
    ) -> tuple[Tensor, Cache]:
        """The distribution of the next token of every hypothesis.

        Args:
          source: Of `read`.
          cache: Of the steps so far.
          tokens: int32 ``[batch, width]``, the newest token of each hypothesis; 0 at
            the first step.
          slots: int32 ``[batch, width, length]``: the slot that held each
            hypothesis at every step so far, its own at this one.
          step: int32 scalar, the number of this step, from 0.

        Returns:
          Logits float32 ``[batch, width, vocabulary]``, and the longer cache.
        """
        bias = self._self_bias(slots, step)
        x = self.model.embedding(tokens)
        all_keys, all_values = [], []
        for i, layer in enumerate(self.layers):
            queries, keys, values = _fused(
                layer.attention, layer.attention_norm(x), ("query", "key", "value")
            )
            keys = _written(cache.keys[i], keys, step)
            values = _written(cache.values[i], values, step)
            x = x + _attended(layer.attention, queries, keys, values, bias)
            (queries,) = _fused(layer.cross_attention, layer.cross_norm(x), ("query",))
            x = x + _attended(
                layer.cross_attention,
                queries,
                source.keys[i],
                source.values[i],
                source.bias,
            )
            x = x + layer.feedforward(layer.feedforward_norm(x))
            all_keys.append(keys)
            all_values.append(values)
        logits = self.model.softmax(self.model.decoder_norm(x))
        cache = Cache(tuple(all_keys), tuple(all_values))
        return ops.cast(logits, "float32"), cache

    def _self_bias(self, slots: Tensor, step: Tensor) -> Tensor:
        """float32 ``[batch, heads, width, length * width]``.

        The position bias where a slot holds an ancestor (or the hypothesis itself),
        very negative elsewhere.
        """
        batch, width, length = slots.shape
        by_distance = self.model.decoder_bias.between(length, 1)[0, :, :, 0]
        positions = ops.arange(length, dtype="int32")
        distance = ops.maximum(step - positions, 0)
        bias = ops.take(by_distance, distance, axis=1)  # [heads, length]
        is_ancestor = ops.equal(
            slots[:, :, :, None], ops.arange(width, dtype="int32")
        )  # [batch, width, length, width]
        is_ancestor = ops.logical_and(
            is_ancestor, ops.less_equal(positions, step)[:, None]
        )
        bias = ops.where(
            is_ancestor[:, None], bias[None, :, None, :, None], MASKED
        )  # [batch, heads, width, length, width]
        return ops.reshape(bias, (batch, -1, width, length * width))


def _fused(attention: Attention, x: Tensor, names: tuple[str, ...]) -> list[Tensor]:
    """Projections of the same input in one product.

    Args:
      attention: Has them as attributes ``names``.
      x: ``[batch, width, d]``.

    Returns:
      One ``[batch, heads, width, head_dim]`` a name.
    """
    kernels = [getattr(attention, name).kernel for name in names]
    kernel = ops.cast(ops.concatenate(kernels, axis=-1), attention.compute_dtype)
    batch, width = x.shape[:2]
    split = (batch, width, len(names), attention.heads, attention.head_dim)
    projected = ops.reshape(project(x, kernel), split)
    projected = ops.transpose(projected, (2, 0, 3, 1, 4))
    return [projected[i] for i in range(len(names))]


def _written(cache: Tensor, new: Tensor, step: Tensor) -> Tensor:
    """``[batch, heads, length, width, head_dim]`` with ``new`` as its row ``step``."""
    return ops.slice_update(cache, [0, 0, step, 0, 0], new[:, :, None])


def _attended(
    attention: Attention, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor
) -> Tensor:
    """Attention with queries, keys and values that are already projected.

    Args:
      queries: ``[batch, heads, width, head_dim]``.
      keys, values: ``[batch, heads, ..., head_dim]``, joined to one axis.
      bias: float32, broadcast to ``[batch, heads, width, joined]``.

    Returns:
      ``[batch, width, d]``.
    """
    batch, heads, width, head_dim = queries.shape
    keys = ops.reshape(keys, (batch, heads, -1, head_dim))
    values = ops.reshape(values, (batch, heads, -1, head_dim))
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2))
    weights = ops.softmax(ops.cast(scores, "float32") + bias, axis=-1)
    mixed = ops.matmul(ops.cast(weights, attention.compute_dtype), values)
    merged = ops.reshape(ops.swapaxes(mixed, 1, 2), (batch, width, heads * head_dim))
    return attention.output_projection(merged)
