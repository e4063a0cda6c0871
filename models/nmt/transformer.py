"""The translation model: a pre-LN encoder-decoder Transformer, T5-1.1 shaped.

One object is either a single model or a **stack** of independent models of one
shape that train side by side as one program. In a stack every weight and every
activation has a leading axis of length ``stack`` (written ``*lead`` in the
shapes below; ``*lead`` is empty for a single model). At the sizes of a laptop
study a step costs mostly the launching of small operations, which a stack pays
once for all of its models. The models of a stack never interact.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from models.nmt.attention import Attention, segment_mask
from models.nmt.feedforward import FeedForward
from models.nmt.loss import projected_cross_entropy
from models.nmt.projection import Projection, RMSNorm
from models.nmt.relative_bias import RelativeBias
from models.nmt.sizes import ParameterCount, Shape


def shift_right(target_ids, target_segments):
    """The decoder's input: each sentence one step later, starting with 0.

    Example: ids ``[5 6 1 7 1 0]`` of segments ``[1 1 1 2 2 0]`` become
    ``[0 5 6 0 7 0]``: the second sentence does not see the end of the first.

    Args:
      target_ids, target_segments: int ``[*lead, batch, length]``.
    """

    def previous(x):
        return ops.concatenate([ops.zeros_like(x[..., :1]), x[..., :-1]], axis=-1)

    same = ops.equal(target_segments, previous(target_segments))
    return ops.where(same, previous(target_ids), 0)


class Embedding(keras.layers.Layer):
    """The input table, shared by source and target; unit variance as in T5."""

    def __init__(self, lead: tuple[int, ...], vocabulary_size: int, d: int, **kwargs):
        super().__init__(**kwargs)
        self.lead = lead
        self.vocabulary_size = vocabulary_size
        self.d = d
        self.stddev = 1.0

    def build(self, input_shape=None) -> None:
        self.table = self.add_weight(
            name="table",
            shape=(*self.lead, self.vocabulary_size, self.d),
            initializer="zeros",
        )

    def call(self, ids):
        """int ``[*lead, batch, length]`` -> ``[*lead, batch, length, d]``."""
        if self.lead:
            first = ops.arange(self.lead[0], dtype=ids.dtype) * self.vocabulary_size
            ids = ids + ops.reshape(first, (-1, 1, 1))
        # The reshape joins the tables of a stack; for a single model it still
        # matters: the gradient through it is dense, as Adafactor needs it.
        table = ops.reshape(ops.cast(self.table, self.compute_dtype), (-1, self.d))
        return ops.take(table, ids, axis=0)


class EncoderLayer(keras.layers.Layer):
    """``x + attention(norm(x))``, then ``x + feed_forward(norm(x))``."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.attention_norm = RMSNorm(lead, shape.d_model, name="attention_norm")
        self.attention = Attention(shape, lead, name="attention")
        self.feedforward_norm = RMSNorm(lead, shape.d_model, name="feedforward_norm")
        self.feedforward = FeedForward(shape, lead, name="feedforward")

    def build(self, input_shape=None) -> None:
        for layer in self._layers:
            layer.build()

    def call(self, x, bias):
        """``x``: ``[*lead, batch, length, d]``; ``bias`` as in `Attention`."""
        x = x + self.attention(self.attention_norm(x), bias)
        return x + self.feedforward(self.feedforward_norm(x))


class DecoderLayer(keras.layers.Layer):
    """Self-attention, attention to the encoder, feed-forward; each pre-normed."""

    def __init__(self, shape: Shape, lead: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.attention_norm = RMSNorm(lead, shape.d_model, name="attention_norm")
        self.attention = Attention(shape, lead, name="attention")
        self.cross_norm = RMSNorm(lead, shape.d_model, name="cross_norm")
        self.cross_attention = Attention(shape, lead, name="cross_attention")
        self.feedforward_norm = RMSNorm(lead, shape.d_model, name="feedforward_norm")
        self.feedforward = FeedForward(shape, lead, name="feedforward")

    def build(self, input_shape=None) -> None:
        for layer in self._layers:
            layer.build()

    def call(self, x, bias, encoded, cross_bias):
        """``x``: ``[*lead, batch, Lt, d]``, ``encoded``: ``[*lead, batch, Ls, d]``."""
        x = x + self.attention(self.attention_norm(x), bias)
        x = x + self.cross_attention(self.cross_norm(x), cross_bias, encoded)
        return x + self.feedforward(self.feedforward_norm(x))


class Transformer(keras.Model):
    """Encoder-decoder Transformer with independent depths.

    Args:
      shape: Depths and widths.
      vocabulary_size: Rows of the two tables.
      stack: ``None`` for one model, or the number of models in a stack.
    """

    def __init__(
        self,
        shape: Shape,
        vocabulary_size: int,
        *,
        stack: int | None = None,
        name: str = "transformer",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.shape = shape
        self.vocabulary_size = vocabulary_size
        self.stack = stack
        lead = () if stack is None else (stack,)
        d = shape.d_model
        self.embedding = Embedding(lead, vocabulary_size, d, name="embedding")
        self.encoder_bias = RelativeBias(
            shape.heads,
            bidirectional=True,
            lead=lead,
            stddev=d**-0.5,
            name="encoder_bias",
        )
        self.encoder_layers = [
            EncoderLayer(shape, lead, name=f"encoder_{i}")
            for i in range(shape.enc_layers)
        ]
        self.encoder_norm = RMSNorm(lead, d, name="encoder_norm")
        self.decoder_bias = RelativeBias(
            shape.heads,
            bidirectional=False,
            lead=lead,
            stddev=d**-0.5,
            name="decoder_bias",
        )
        self.decoder_layers = [
            DecoderLayer(shape, lead, name=f"decoder_{i}")
            for i in range(shape.dec_layers)
        ]
        self.decoder_norm = RMSNorm(lead, d, name="decoder_norm")
        self.softmax = Projection(lead, d, vocabulary_size, d**-0.5, name="softmax")

    def build(self, input_shape=None) -> None:
        for layer in self._flatten_layers(include_self=False, recursive=False):
            layer.build()
        self.built = True

    def initialise(self, seeds: Sequence[int]) -> None:
        """Draws every weight; the norms stay at 1.

        The values depend on the seed and on the name of the weight alone, not on
        the backend or on which other models are in the stack.

        Args:
          seeds: One seed a model.
        """
        for layer in self._flatten_layers(include_self=False):
            stddev = getattr(layer, "stddev", None)
            if stddev is None:
                continue
            (weight,) = layer.trainable_variables
            one = weight.shape if self.stack is None else weight.shape[1:]
            salt = zlib.crc32(weight.path.encode())
            values = [
                np.random.default_rng([seed, salt]).normal(0.0, stddev, one)
                for seed in seeds
            ]
            weight.assign(values[0] if self.stack is None else np.stack(values))

    def encode(self, source_ids, source_segments):
        """int ``[*lead, batch, Ls]`` twice -> ``[*lead, batch, Ls, d]``."""
        length = source_ids.shape[-1]
        bias = self.encoder_bias.between(length, length) + segment_mask(
            source_segments, source_segments
        )
        x = self.embedding(source_ids)
        for layer in self.encoder_layers:
            x = layer(x, bias)
        return self.encoder_norm(x)

    def call(self, source_ids, source_segments, target_ids, target_segments):
        """Teacher forcing over packed rows.

        Args:
          source_ids, source_segments: int ``[*lead, batch, Ls]``.
          target_ids, target_segments: int ``[*lead, batch, Lt]``; the ids are the
            ones to predict, the model shifts them itself.

        Returns:
          Logits ``[*lead, batch, Lt, vocabulary]``.
        """
        fields = (source_ids, source_segments, target_ids, target_segments)
        return self.softmax(self.decode(*fields))

    def token_losses(self, source_ids, source_segments, target_ids, target_segments):
        """Nats of each target token, float32 ``[*lead, batch, Lt]``.

        The arguments are those of `call`. The same as the cross-entropy of the
        logits, and about twice as fast to differentiate.
        """
        fields = (source_ids, source_segments, target_ids, target_segments)
        x = self.decode(*fields)
        kernel = ops.cast(self.softmax.kernel, self.compute_dtype)
        return projected_cross_entropy(x, kernel, target_ids)

    def decode(self, source_ids, source_segments, target_ids, target_segments):
        """The decoder's normed output, ``[*lead, batch, Lt, d]``."""
        encoded = self.encode(source_ids, source_segments)
        length = target_ids.shape[-1]
        bias = self.decoder_bias.between(length, length) + segment_mask(
            target_segments, target_segments, causal=True
        )
        cross_bias = segment_mask(target_segments, source_segments)
        x = self.embedding(shift_right(target_ids, target_segments))
        for layer in self.decoder_layers:
            x = layer(x, bias, encoded, cross_bias)
        return self.decoder_norm(x)

    def count_parameters(self) -> ParameterCount:
        """Counts the variables that exist (one model of the stack)."""
        models = self.stack or 1

        def size(part) -> int:
            layers = part if isinstance(part, list) else [part]
            return sum(
                int(keras.ops.size(weight)) // models
                for layer in layers
                for weight in layer.trainable_variables
            )

        return ParameterCount(
            n_enc=size([self.encoder_bias, self.encoder_norm, *self.encoder_layers]),
            n_dec=size([self.decoder_bias, self.decoder_norm, *self.decoder_layers]),
            n_embedding=size([self.embedding, self.softmax]),
        )
