"""The training step against other implementations of the same model.

    python benchmarks/training_step.py [--torch-python PYTHON] [--shape tiny small]

Forward, backward and update of a T5-1.1-shaped model in thousands of tokens (source and
target) per second, and seconds to the first step. Candidates run in processes of their
own that take turns, a few steps a turn; the figure is the median over the turns, so a
noisy machine disturbs all of them alike. Ours is the program that a sweep runs, mixture
and all else included. Hugging Face's T5 needs an interpreter with `torch` and
`transformers` (`--torch-python`); candidates that cannot run are named.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# d, ff, layers a side, heads, vocabulary, rows; 32 + 32 tokens a row.
SHAPES = {
    "tiny": (128, 512, 2, 4, 4_000, 32),
    "small": (256, 1_024, 3, 8, 8_000, 64),
}
LENGTH = 32
TURN_SECONDS = 1.5
PEAK = "matmul peak"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--only", nargs="+", choices=CANDIDATES)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return serve(*arguments.child)
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    for shape in arguments.shape:
        for threads in arguments.threads:
            compare(arguments, shape, threads)


def compare(arguments: argparse.Namespace, shape: str, threads: int) -> None:
    """Prints one table: all candidates at one shape, taking turns."""
    print(f"\n{shape} {SHAPES[shape]}, {threads} threads")
    children: dict[str, Child] = {}
    for name in arguments.only or CANDIDATES:
        child = Child(arguments, name, shape, threads)
        if child.error:
            print(f"  {name:28} cannot run: {child.error}")
        else:
            children[name] = child
    speeds: dict[str, list[float]] = {name: [] for name in children}
    for _ in range(arguments.turns):
        for name, child in children.items():
            speeds[name].append(child.turn())
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ours = medians.get("ours")
    tokens = SHAPES[shape][5] * 2 * LENGTH
    for name, child in sorted(children.items(), key=lambda item: -medians[item[0]]):
        if name.startswith(PEAK):
            print(f"  {name:28} {medians[name]:7.1f} GFLOP/s")
            continue
        rate = medians[name] * tokens / 1e3
        relative = f"ours / this {ours / medians[name]:5.2f}" if ours else ""
        achieved = medians[name] * flops_per_step(shape) / 1e9
        peak = medians.get(PEAK)
        share = f"{achieved / peak:4.0%} of the peak" if peak else ""
        print(
            f"  {name:28} {rate:7.2f} k tokens/s  {relative}  {share}  "
            f"first step after {child.start_seconds:.1f} s"
        )
    for child in children.values():
        child.close()


def flops_per_step(shape: str) -> float:
    """Floating-point operations of the matrix products, forward and backward."""
    d, ff, layers, _, vocabulary, rows = SHAPES[shape]
    attention, feed_forward = 4 * d * d, 3 * d * ff
    weights = layers * (3 * attention + 2 * feed_forward)
    mixing = layers * 3 * 2 * LENGTH * d  # scores and values, three attentions a pair
    return 6.0 * rows * LENGTH * (weights + mixing + d * vocabulary)


class Child:
    """A candidate in its own process."""

    def __init__(
        self, arguments: argparse.Namespace, name: str, shape: str, threads: int
    ):
        python = arguments.torch_python if name.startswith("HF") else sys.executable
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "OMP_NUM_THREADS": str(threads),
        }
        self.process = subprocess.Popen(
            [python, __file__, "--child", name, shape, str(threads)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        answer = self._read()
        self.error = answer.get("error")
        self.start_seconds = answer.get("start_seconds", 0.0)

    def turn(self) -> float:
        """Steps per second over one turn."""
        assert self.process.stdin is not None
        self.process.stdin.write("turn\n")
        self.process.stdin.flush()
        return self._read()["per_second"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read(self) -> dict:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        last = self.process.stderr.read().strip().splitlines() or ["no output"]
        return {"error": last[-1]}


def serve(name: str, shape: str, threads: str) -> None:
    """A child: gets ready, then times a turn for each line that it reads."""
    step, start_seconds = CANDIDATES[name](shape, int(threads))
    print(json.dumps({"start_seconds": start_seconds}), flush=True)
    for _ in sys.stdin:
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < TURN_SECONDS:
            steps += step()
        rate = steps / (time.perf_counter() - start)
        print(json.dumps({"per_second": rate}), flush=True)


Step = Callable[[], float]


def first(step: Step, start: float) -> tuple[Step, float]:
    """The step, warm, and the seconds from ``start`` to the end of the first one."""
    step()
    seconds = time.perf_counter() - start
    step()
    return step, seconds


def tensorflow(threads: int):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return tf


def batch(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Source and target ids, ``[rows, LENGTH]``."""
    vocabulary, rows = SHAPES[shape][4:]
    rng = np.random.default_rng(0)
    source = rng.integers(3, vocabulary, (rows, LENGTH)).astype("int32")
    return source, rng.integers(3, vocabulary, (rows, LENGTH)).astype("int32")


def ours(precision: str, jit: str):
    def prepare(shape: str, threads: int) -> tuple[Step, float]:
        tf = tensorflow(threads)
        from components.train.config import Config
        from components.train.program import Program
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
        program = Program(config, own, vocabulary, [0])
        source, target = batch(shape)
        steps = 1 if shape == "small" else 4
        segments = np.ones_like(source)
        fields = [
            tf.constant(np.broadcast_to(field, (steps, 1, rows, LENGTH)))
            for field in (source, segments, target, segments)
        ]

        def step() -> float:
            program.train(fields)
            return steps

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


def hugging_face(compiled: bool, half: bool):
    def prepare(shape: str, threads: int) -> tuple[Step, float]:
        import torch
        from transformers import T5Config, T5ForConditionalGeneration
        from transformers.optimization import Adafactor

        torch.set_num_threads(threads)
        d, ff, layers, heads, vocabulary, _ = SHAPES[shape]
        start = time.perf_counter()
        model = T5ForConditionalGeneration(
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
    "ours": ours("float32", "off"),
    "ours, XLA": ours("float32", "on"),
    "ours, mixed bfloat16": ours("mixed_bfloat16", "off"),
    "KerasHub T5, XLA": kerashub,
    "HF T5": hugging_face(False, False),
    "HF T5, compiled": hugging_face(True, False),
    "HF T5, compiled, bfloat16": hugging_face(True, True),
}


if __name__ == "__main__":
    main()
