"""The translation model: a pre-LN encoder-decoder Transformer.

It expresses both families of the papers: the T5-1.1-shaped block of [M], and the
block of [N] (`Shape.block`), at independent depths of encoder and decoder.

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

from models.nmt.attention import segment_mask
from models.nmt.dropout import Dropout, keep_all
from models.nmt.fast.training_loss import projected_cross_entropy
from models.nmt.layers import (
    DecoderLayer,
    Embedding,
    EncoderLayer,
    make_norm,
    sinusoids,
)
from models.nmt.loss import token_cross_entropy
from models.nmt.projection import Projection
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


def positions_of(segments):
    """Position of each token in its sentence, int ``[*lead, batch, length]``.

    Example: segments ``[1 1 1 2 2]`` have positions ``[0 1 2 0 1]``.
    """
    same = ops.equal(ops.expand_dims(segments, -1), ops.expand_dims(segments, -2))
    return ops.sum(ops.cast(ops.tril(same), "int32"), axis=-1) - 1


class Transformer(keras.Model):
    """Encoder-decoder Transformer with independent depths.

    Args:
      shape: Block, depths and widths.
      vocabulary_size: Rows of the tables.
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
        self.target_embedding = None
        if shape.block == "vaswani":
            self.target_embedding = Embedding(
                lead, vocabulary_size, d, name="target_embedding"
            )
        self.encoder_bias = _position_bias(shape, lead, "encoder_bias")
        self.encoder_layers = [
            EncoderLayer(shape, lead, name=f"encoder_{i}")
            for i in range(shape.enc_layers)
        ]
        self.encoder_norm = make_norm(shape, lead, "encoder_norm")
        self.decoder_bias = _position_bias(shape, lead, "decoder_bias")
        self.decoder_layers = [
            DecoderLayer(shape, lead, name=f"decoder_{i}")
            for i in range(shape.dec_layers)
        ]
        self.decoder_norm = make_norm(shape, lead, "decoder_norm")
        self.softmax = Projection(lead, d, vocabulary_size, d**-0.5, name="softmax")

    def build(self, input_shape=None) -> None:
        for layer in self.layers:
            layer.build()
        self.built = True

    def initialise(self, seeds: Sequence[int]) -> None:
        """Draws every matrix; scales become 1, biases and shifts 0.

        The values depend on the seed and on the name of the weight alone, not on
        the backend or on which other models are in the stack.

        Args:
          seeds: One seed a model.
        """
        for weight in self.trainable_variables:
            fill = ops.ones if weight.name == "scale" else ops.zeros
            weight.assign(fill(weight.shape, weight.dtype))
        # Keras has no public way to the layers inside of layers.
        for layer in self._flatten_layers(include_self=False):
            stddev = getattr(layer, "stddev", None)
            if stddev is None:
                continue
            weight = layer.trainable_variables[0]  # the matrix; a bias comes after it
            one = weight.shape if self.stack is None else weight.shape[1:]
            salt = zlib.crc32(weight.path.encode())
            values = [
                np.random.default_rng([seed, salt]).normal(0.0, stddev, one)
                for seed in seeds
            ]
            weight.assign(values[0] if self.stack is None else np.stack(values))

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
        return self.project(self.decode(*fields))

    def token_losses(
        self,
        source_ids,
        source_segments,
        target_ids,
        target_segments,
        dropout: Dropout = keep_all,
        label_smoothing: float = 0.0,
    ):
        """Nats of each target token, float32 ``[*lead, batch, Lt]``.

        The first four arguments are those of `call`; the other two are for training.
        The same as the cross-entropy of the logits, and faster to differentiate.
        """
        fields = (source_ids, source_segments, target_ids, target_segments)
        x = self.decode(*fields, dropout=dropout)
        if self.shape.logit_clip is not None:
            return token_cross_entropy(self.project(x), target_ids, label_smoothing)
        kernel = ops.cast(self.softmax.kernel, self.compute_dtype)
        return projected_cross_entropy(x, kernel, target_ids, label_smoothing)

    def project(self, x):
        """The decoder's output to logits, ``[*lead, batch, Lt, vocabulary]``."""
        logits = self.softmax(x)
        clip = self.shape.logit_clip
        return logits if clip is None else ops.clip(logits, -clip, clip)

    def encode(self, source_ids, source_segments, dropout: Dropout = keep_all):
        """int ``[*lead, batch, Ls]`` twice -> ``[*lead, batch, Ls, d]``."""
        bias = segment_mask(source_segments, source_segments)
        if self.encoder_bias is not None:
            length = source_ids.shape[-1]
            bias = bias + self.encoder_bias.between(length, length)
        x = self._embed(self.embedding, source_ids, source_segments)
        x = dropout(x)
        for layer in self.encoder_layers:
            x = layer(x, bias, dropout=dropout)
        return dropout(self.encoder_norm(x))

    def decode(
        self,
        source_ids,
        source_segments,
        target_ids,
        target_segments,
        dropout: Dropout = keep_all,
    ):
        """The decoder's normed output, ``[*lead, batch, Lt, d]``."""
        encoded = self.encode(source_ids, source_segments, dropout)
        bias = segment_mask(target_segments, target_segments, causal=True)
        if self.decoder_bias is not None:
            length = target_ids.shape[-1]
            bias = bias + self.decoder_bias.between(length, length)
        cross_bias = segment_mask(target_segments, source_segments)
        shifted = shift_right(target_ids, target_segments)
        table = self.target_embedding or self.embedding
        x = dropout(self._embed(table, shifted, target_segments))
        for layer in self.decoder_layers:
            x = layer(x, bias, encoded, cross_bias, dropout=dropout)
        return dropout(self.decoder_norm(x))

    def count_parameters(self) -> ParameterCount:
        """Counts the variables that exist (one model of the stack)."""
        models = self.stack or 1

        def size(*parts) -> int:
            return sum(
                int(keras.ops.size(weight)) // models
                for layer in parts
                if layer is not None
                for weight in layer.trainable_variables
            )

        return ParameterCount(
            n_enc=size(self.encoder_bias, self.encoder_norm, *self.encoder_layers),
            n_dec=size(self.decoder_bias, self.decoder_norm, *self.decoder_layers),
            n_embedding=size(self.embedding, self.target_embedding, self.softmax),
        )

    def _embed(self, table: Embedding, ids, segments):
        """Embedded tokens; with their positions where the block has no bias."""
        x = table(ids)
        if self.shape.block != "vaswani":
            return x
        signal = sinusoids(positions_of(segments), self.shape.d_model)
        return x + ops.cast(signal, x.dtype)


def _position_bias(
    shape: Shape, lead: tuple[int, ...], name: str
) -> RelativeBias | None:
    if shape.block == "vaswani":
        return None
    return RelativeBias(
        shape.heads,
        bidirectional=name == "encoder_bias",
        lead=lead,
        stddev=shape.d_model**-0.5,
        name=name,
    )
