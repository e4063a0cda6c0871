"""Evaluation against training, in target tokens a second of the same models.

    python benchmarks/evaluation_speed.py [--sizes 9k,37k,167k] [--rounds 7]
        [--batch-rows 16] [--stack 3] [--sentences 1000,10000,50000]

Packed rows of random sentences with the lengths of real ones. Training is the trainer's
own compiled step, evaluation the evaluator's whole way from packed rows to the loss of
every sentence. Turns alternate; medians of the ratios. Bar: 2.5.

Then the most memory that the process has held after test sets of so many sentences.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np

from components.engines.tensorflow_start import start_tensorflow

LENGTH = 64
VOCABULARY = 2000
STEPS = 10
SENTENCES_A_ROW = 3


def packed_rows(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Rows of random sentences, log-normal lengths, packed to nine tenths."""
    fields = {}
    lengths = [[] for _ in range(rows)]
    for own in lengths:
        while (length := int(rng.lognormal(2.6, 0.5)) + 2) + sum(own) <= LENGTH:
            own.append(length)
    segments = np.zeros((rows, LENGTH), np.int32)
    for row, own in enumerate(lengths):
        numbers = np.repeat(np.arange(1, len(own) + 1), own)
        segments[row, : len(numbers)] = numbers
    for side in ("source", "target"):
        ids = rng.integers(3, VOCABULARY, segments.shape)
        fields[f"{side}_ids"] = (ids * (segments > 0)).astype(np.int32)
        fields[f"{side}_segments"] = segments
    return fields


def sentence_numbers(segments: np.ndarray) -> np.ndarray:
    """A number for each sentence of the rows, -1 where there is none."""
    slots = np.arange(1, segments.max() + 1) <= segments.max(axis=1)[:, None]
    return np.where(slots, np.cumsum(slots).reshape(slots.shape) - 1, -1)


def workloads(
    size: str, stack: int, batch_rows: int
) -> tuple[Callable[[], int], Callable[[], int]]:
    """Functions that train and evaluate once and return target tokens."""
    import tensorflow as tf

    from components.engines.cross_entropy import FIELDS, TestSet
    from components.train.config import Config
    from components.train.model_stack import ModelStack
    from models.nmt.sizes import get_shape

    rng = np.random.default_rng(0)
    config = Config(sizes=(size,), mixtures=(0.5,), steps=STEPS, warmup_steps=STEPS)
    program = ModelStack(config, get_shape(size), VOCABULARY, range(stack))
    rows = packed_rows(rng, STEPS * stack * batch_rows)
    shape = (STEPS, stack, batch_rows, LENGTH)
    batch = [tf.constant(rows[name].reshape(shape)) for name in FIELDS]
    trained = int((rows["target_segments"] > 0).sum())
    test = packed_rows(rng, 500)
    numbers = sentence_numbers(test["target_segments"])
    test_set = TestSet("en-de", "in_domain", test, numbers)
    evaluated = int((test["target_segments"] > 0).sum()) * stack

    def train() -> int:
        program.train(batch)
        return trained

    def evaluate() -> int:
        program.evaluate([test_set])
        return evaluated

    return train, evaluate


def speed(work: Callable[[], int], seconds: float) -> float:
    """Target tokens a second, over at least so many seconds."""
    tokens, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < seconds:
        tokens += work()
    return tokens / taken


def memory(counts: list[int]) -> None:
    """Prints the most memory held after test sets of rising numbers of sentences."""
    from components.engines.cross_entropy import Scorer, TestSet
    from models.nmt.sizes import get_shape
    from models.nmt.transformer import Transformer

    model = Transformer(get_shape("37k"), VOCABULARY, stack=1)
    model.build()
    scorer = Scorer(model)
    print("\nsentences  tokenised  most memory")
    for count in counts:
        rows = packed_rows(np.random.default_rng(0), count // SENTENCES_A_ROW)
        numbers = sentence_numbers(rows["target_segments"])
        scorer.score(TestSet("en-de", "in_domain", rows, numbers))
        size = sum(field.nbytes for field in rows.values()) / 2**20
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{(numbers >= 0).sum():>9,}  {size:>5.0f} MiB  {most:>7.0f} MiB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="9k,37k,167k,592k")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--stack", type=int, default=3)
    parser.add_argument("--batch-rows", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--sentences", default="1000,10000,50000")
    options = parser.parse_args()
    start_tensorflow()
    print("size     training  evaluation  ratio (bar: 2.5)")
    for size in options.sizes.split(","):
        train, evaluate = workloads(size, options.stack, options.batch_rows)
        train(), evaluate()  # compile
        found = [
            (speed(train, options.seconds), speed(evaluate, options.seconds))
            for _ in range(options.rounds)
        ]
        ratio = statistics.median(two / one for one, two in found)
        one, two = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"{size:<6} {one:>10,.0f}  {two:>10,.0f}  {ratio:.2f}", flush=True)
    if options.sentences:
        memory([int(count) for count in options.sentences.split(",")])


if __name__ == "__main__":
    main()
