"""The implementations that `training_step.py` compares, one training step each."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

# d, ff, layers a side, heads, vocabulary, rows; 32 + 32 tokens a row.
SHAPES = {
    "tiny": (128, 512, 2, 4, 4_000, 32),
    "small": (256, 1_024, 3, 8, 8_000, 64),
}
LENGTH = 32
PEAK = "matmul peak"

Step = Callable[[], float]


def first(step: Step, start: float) -> tuple[Step, float]:
    """The step, warm, and the seconds from ``start`` to the end of the first one."""
    step()
    seconds = time.perf_counter() - start
    step()
    return step, seconds


def use_tensorflow(threads: int, width: int, precision: str, jit: str) -> None:
    """TensorFlow with the threads that a worker of a sweep gives it."""
    from components.engines.tensorflow_start import start_tensorflow

    start_tensorflow()
    from components.engines import strategy

    compiled = strategy.compiles_step(jit, "default")
    strategy.use_threads(threads, widest=width, compiled=compiled)


def tensorflow(threads: int):
    """TensorFlow for the others: everything they do may use all threads."""
    from components.engines.tensorflow_start import start_tensorflow

    start_tensorflow()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    return tf


def batch(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Source and target ids, ``[rows, LENGTH]``."""
    vocabulary, rows = SHAPES[shape][4:]
    rng = np.random.default_rng(0)
    source = rng.integers(3, vocabulary, (rows, LENGTH)).astype("int32")
    return source, rng.integers(3, vocabulary, (rows, LENGTH)).astype("int32")


def ours(precision: str, jit: str):
    def prepare(shape: str, threads: int) -> tuple[Step, float]:
        use_tensorflow(threads, SHAPES[shape][0], precision, jit)
        import tensorflow as tf

        from components.train.config import Config
        from components.train.model_stack import ModelStack
        from models.nmt.sizes import Shape

        d, ff, layers, heads, vocabulary, rows = SHAPES[shape]
        config = Config(
            sizes=("2k",),
            mixtures=(0.5,),
            batch_tokens=rows * LENGTH,
            precision=precision,
            jit=jit,
        )
        start = time.perf_counter()
        own = Shape("benchmark", layers, layers, d, heads, d // heads, ff)
        program = ModelStack(config, own, vocabulary, [0])
        source, target = batch(shape)
        segments = np.ones_like(source)
        fields = [
            tf.constant(field[None, None])
            for field in (source, segments, target, segments)
        ]

        def step() -> float:
            program.train(fields)
            return 1

        return first(step, start)

    return prepare


def kerashub(shape: str, threads: int) -> tuple[Step, float]:
    tf = tensorflow(threads)
    import keras
    import keras_hub

    d, ff, layers, heads, vocabulary, _ = SHAPES[shape]
    start = time.perf_counter()
    model = keras_hub.models.T5Backbone(
        vocabulary_size=vocabulary,
        num_layers=layers,
        num_heads=heads,
        hidden_dim=d,
        intermediate_dim=ff,
        key_value_dim=d // heads,
        dropout=0.0,
        activation=lambda x: keras.activations.gelu(x, approximate=True),
        use_gated_activation=True,
        tie_embedding_weights=False,
    )
    optimizer = keras.optimizers.Adafactor(0.01)
    optimizer.build(model.trainable_variables)
    source, target = (tf.constant(ids) for ids in batch(shape))
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": tf.ones_like(source),
        "decoder_token_ids": tf.pad(target[:, :-1], ((0, 0), (1, 0))),
        "decoder_padding_mask": tf.ones_like(target),
    }

    @tf.function(jit_compile=True)
    def train_step(inputs, target):
        with tf.GradientTape() as tape:
            hidden = model(inputs)["decoder_sequence_output"]
            table = model.token_embedding.reverse_embeddings
            logits = tf.matmul(hidden, table)
            nats = tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)
            loss = tf.reduce_mean(nats)
        gradients = tape.gradient(loss, model.trainable_variables)
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        optimizer.apply(dense, model.trainable_variables)
        return loss

    def step() -> float:
        train_step(inputs, target).numpy()
        return 1

    return first(step, start)


class PlainKeras:
    """The same model as one writes it down: a product a projection, no packing."""

    def __init__(self, shape: str):
        from models.nmt.relative_bias import relative_buckets

        self.d, self.ff, layers, self.heads, vocabulary, _ = SHAPES[shape]
        d, ff = self.d, self.ff
        self.random = np.random.default_rng(0)
        self.variables: list = []
        self.table = self.weight(vocabulary, d)
        self.softmax = self.weight(d, vocabulary)
        attention, feedforward = (
            [(d,), *[(d, d)] * 4],
            [(d,), (d, ff), (d, ff), (ff, d)],
        )
        self.encoder = [
            [self.weights(block) for block in (attention, feedforward)]
            for _ in range(layers)
        ]
        self.decoder = [
            [self.weights(block) for block in (attention, attention, feedforward)]
            for _ in range(layers)
        ]
        self.norms = self.weights([(d,), (d,)])
        self.biases = self.weights([(32, self.heads)] * 2)
        self.buckets = [
            relative_buckets(LENGTH, LENGTH, bidirectional=both)
            for both in (True, False)
        ]
        self.causal = np.where(np.tri(LENGTH), 0.0, -1e9).astype("float32")

    def weight(self, *dims: int):
        import keras

        value = self.random.normal(0.0, dims[0] ** -0.5, dims).astype("float32")
        self.variables.append(keras.Variable(value))
        return self.variables[-1]

    def weights(self, shapes: list[tuple[int, ...]]) -> list:
        return [self.weight(*dims) for dims in shapes]

    def norm(self, x, scale):
        from keras import ops

        mean = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return x * ops.rsqrt(mean + 1e-6) * scale

    def attention(self, x, weights, bias, memory=None):
        from keras import ops

        scale, query, key, value, out = weights
        normed = self.norm(x, scale)
        memory = normed if memory is None else memory
        split = (-1, LENGTH, self.heads, self.d // self.heads)
        q, k, v = (
            ops.transpose(ops.reshape(a @ w, split), (0, 2, 1, 3))
            for a, w in ((normed, query), (memory, key), (memory, value))
        )
        mixed = ops.softmax(q @ ops.transpose(k, (0, 1, 3, 2)) + bias) @ v
        mixed = ops.transpose(mixed, (0, 2, 1, 3))
        return x + ops.reshape(mixed, (-1, LENGTH, self.d)) @ out

    def feedforward(self, x, weights):
        import keras

        scale, gate, up, down = weights
        normed = self.norm(x, scale)
        return x + (keras.activations.gelu(normed @ gate, True) * (normed @ up)) @ down

    def logits(self, source, target):
        import tensorflow as tf
        from keras import ops

        biases = [
            ops.transpose(ops.take(bias, ids, axis=0), (2, 0, 1))
            for bias, ids in zip(self.biases, self.buckets, strict=True)
        ]
        table = ops.reshape(ops.convert_to_tensor(self.table), (-1, self.d))
        x = ops.take(table, source, axis=0)
        for attention, feedforward in self.encoder:
            x = self.feedforward(self.attention(x, attention, biases[0]), feedforward)
        encoded = self.norm(x, self.norms[0])
        x = ops.take(table, tf.pad(target[:, :-1], ((0, 0), (1, 0))), axis=0)
        for attention, cross, feedforward in self.decoder:
            x = self.attention(x, attention, biases[1] + self.causal)
            x = self.attention(x, cross, 0.0, encoded)
            x = self.feedforward(x, feedforward)
        return self.norm(x, self.norms[1]) @ ops.convert_to_tensor(self.softmax)


def plain_keras(shape: str, threads: int) -> tuple[Step, float]:
    tf = tensorflow(threads)
    import keras

    start = time.perf_counter()
    model = PlainKeras(shape)
    optimizer = keras.optimizers.Adafactor(0.01)
    optimizer.build(model.variables)
    source, target = (tf.constant(ids) for ids in batch(shape))

    @tf.function(jit_compile=True)
    def train_step(source, target):
        with tf.GradientTape() as tape:
            nats = tf.nn.sparse_softmax_cross_entropy_with_logits(
                target, model.logits(source, target)
            )
            loss = tf.reduce_mean(nats)
        values = [variable.value for variable in model.variables]
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, values)]
        optimizer.apply(gradients, model.variables)
        return loss

    def step() -> float:
        train_step(source, target).numpy()
        return 1

    return first(step, start)


def t5(d: int, ff: int, layers: int, heads: int, vocabulary: int):
    """Hugging Face's T5 1.1 of these widths, freshly drawn."""
    from transformers import T5Config, T5ForConditionalGeneration

    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocabulary,
            d_model=d,
            d_kv=d // heads,
            d_ff=ff,
            num_layers=layers,
            num_decoder_layers=layers,
            num_heads=heads,
            feed_forward_proj="gated-gelu",
            tie_word_embeddings=False,
            dropout_rate=0.0,
            decoder_start_token_id=0,
        )
    )


def hugging_face(compiled: bool, half: bool):
    def prepare(shape: str, threads: int) -> tuple[Step, float]:
        import torch
        from transformers.optimization import Adafactor

        torch.set_num_threads(threads)
        d, ff, layers, heads, vocabulary, _ = SHAPES[shape]
        start = time.perf_counter()
        model = t5(d, ff, layers, heads, vocabulary)
        optimizer = Adafactor(model.parameters(), lr=0.01, relative_step=False)
        forward = torch.compile(model) if compiled else model
        source, target = (torch.from_numpy(ids).long() for ids in batch(shape))

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = forward(input_ids=source, labels=target).loss
            loss.backward()
            optimizer.step()
            return 1

        return first(step, start)

    return prepare


def matmul_peak(dtype: str):
    """Products of 1,024 x 1,024 matrices; a "step" is 1 GFLOP."""

    def prepare(shape: str, threads: int) -> tuple[Step, float]:
        tf = tensorflow(threads)
        a = tf.cast(tf.random.normal((1024, 1024)), dtype)

        @tf.function
        def product(a):
            return tf.matmul(a, a)

        def step() -> float:
            for _ in range(10):
                result = product(a)
            result[0, 0].numpy()
            return 10 * 2 * 1024**3 / 1e9

        return first(step, time.perf_counter())

    return prepare


CANDIDATES = {
    PEAK: matmul_peak("float32"),
    f"{PEAK}, bfloat16": matmul_peak("bfloat16"),
    "ours": ours("float32", "auto"),
    "ours, step in XLA": ours("float32", "on"),
    "ours, bfloat16": ours("mixed_bfloat16", "auto"),
    "ours, bfloat16, no XLA": ours("mixed_bfloat16", "off"),
    "KerasHub T5, XLA": kerashub,
    "plain Keras, XLA": plain_keras,
    "HF T5": hugging_face(False, False),
    "HF T5, compiled": hugging_face(True, False),
    "HF T5, compiled, bfloat16": hugging_face(True, True),
}
