"""Speed of translation beside other decoders, in sentences a second.

    python benchmarks/decoding_speed.py [--threads 2] [--rounds 5] [--clock wall]

Two tasks: 32 sentences of 32 tokens with 32 forced steps, by beam 4 and greedily; and
2,000 sentences with the lengths of real ones (Tatoeba en-de where the shared data is
there, else lengths of the same distribution), each forced to the length of its
reference; these ours takes in batches of its default size. Every decoder runs once to
warm up, then they take turns; medians. What is not installed is left out and named.
Weights are random: nothing depends on them.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from components.engines.tensorflow_start import start_tensorflow

ROOT = Path(__file__).resolve().parent.parent
TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba" / "en-de"
STEPS = 32
BATCH = 32
CHARACTERS_A_TOKEN = 4.0
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
BARS = {
    ("forced", "hugging_face"): 2.4,
    ("forced", "ctranslate2"): 0.85,
    ("mixed", "hugging_face"): 3.0,
}


def ours(threads: int, batch: int) -> Callable:
    """`Translator`; the search of each sentence ends at its length."""
    from components.evaluate.decoding import Translator
    from models.nmt.search_options import SearchOptions
    from models.nmt.sizes import Shape
    from models.nmt.transformer import Transformer

    class Forced(Translator):
        lengths: Sequence[int] = ()

        def _sentence(self, number, ids, prefix):
            sentence = super()._sentence(number, ids, prefix)
            return dataclasses.replace(sentence, limit=self.lengths[number])

    model = Transformer(Shape("tiny", 2, 2, 128, 4, 32, 512), 4000)
    model.build()
    model.initialise([0])
    translators: dict[int, Forced] = {}

    def search(
        sources: Sequence[Sequence[int]], beams: int, lengths: Sequence[int]
    ) -> None:
        if beams not in translators:
            options = SearchOptions(beams=beams, min_length=10_000)
            translators[beams] = Forced(
                model, options, batch_sentences=batch, workers=threads, compiled=True
            )
        translators[beams].lengths = lengths
        found = translators[beams].translate_ids(sources)
        if [len(best.ids) for best, *_ in found] != list(lengths):
            raise RuntimeError("a sentence does not have the length it was forced to")

    return search


def prepared(threads: int, names: Sequence[str]) -> dict[str, Callable]:
    """The other decoders that are installed; says which are not."""
    import decoding_candidates

    found = {}
    for name in names:
        try:
            found[name] = getattr(decoding_candidates, name)(threads)
        except ImportError as error:
            print(f"not measured: {name} ({error})")
    return found


def forced_sentences() -> tuple[list[list[int]], list[int]]:
    """A batch of one length, with the number of steps of each."""
    rng = np.random.default_rng(0)
    sources = rng.integers(3, 4000, (BATCH, STEPS)).tolist()
    return sources, [STEPS] * BATCH


def mixed_sentences(count: int, order: str) -> tuple[list[list[int]], list[int]]:
    """Random ids of real lengths, as they come (``file``) or in order of source length,
    as decoders like it whose batches wait for their longest."""
    rng = np.random.default_rng(0)
    sides = [TATOEBA / f"test.{language}.txt" for language in ("en", "de")]
    if all(side.exists() for side in sides):
        text = [side.read_text(encoding="utf-8").splitlines() for side in sides]
        characters = np.array([[len(line) for line in side] for side in text])
        chosen = rng.permutation(characters.shape[1])[:count]
        lengths = np.ceil(characters[:, chosen] / CHARACTERS_A_TOKEN).astype(int) + 1
    else:
        source = np.exp(rng.normal(2.2, 0.45, count))
        target = source * np.exp(rng.normal(0.1, 0.2, count))
        lengths = np.clip(np.ceil([source, target]), 2, 90).astype(int)
    if order == "length":
        lengths = lengths[:, np.argsort(lengths[0], kind="stable")]
    source_lengths, target_lengths = lengths
    sources = [rng.integers(3, 4000, n).tolist() for n in source_lengths]
    return sources, target_lengths.tolist()


def measure(
    searches: dict[str, Callable], call: tuple, rounds: int, clock: Callable
) -> dict[str, float]:
    """Median sentences a second of each; the first call, warming up, does not count."""
    sources, beams, lengths = call
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(rounds + 1):
        for name, search in searches.items():
            begun = clock()
            search(sources, beams, lengths)
            spent = clock() - begun
            if turn:
                seconds[name].append(spent)
            elif name == "ours":
                print(f"  ours, first call with compilation: {spent:.1f} s")
    return {
        name: len(sources) / statistics.median(spent) for name, spent in seconds.items()
    }


def show(task: str, label: str, rates: dict[str, float]) -> None:
    """A line a decoder, with the ratio of ours to it and the bar."""
    print(f"{label}")
    for name, rate in rates.items():
        ratio = rates["ours"] / rate
        bar = BARS.get((task, name))
        wanted = f"  (bar: {bar:g}x)" if bar and name != "ours" else ""
        times = "" if name == "ours" else f"{ratio:6.2f}x{wanted}"
        print(f"  {name:<14}{rate:>9.0f} sentences/s  {times}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument(
        "--batch", type=int, default=128, help="ours, of the mixed sentences"
    )
    parser.add_argument("--order", choices=("length", "file"), default="length")
    parser.add_argument("--tasks", nargs="+", default=["forced", "mixed"])
    arguments = parser.parse_args()
    clock, threads = CLOCKS[arguments.clock], arguments.threads
    start_tensorflow()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    others = prepared(threads, ("hugging_face", "ctranslate2", "keras_hub"))
    if "forced" in arguments.tasks:
        searches = {"ours": ours(threads, BATCH), **others}
        for beams, label in ((4, "beam 4"), (1, "greedy")):
            sources, lengths = forced_sentences()
            rates = measure(
                searches, (sources, beams, lengths), arguments.rounds, clock
            )
            show("forced", f"{BATCH} sentences, {STEPS} forced steps, {label}", rates)
    if "mixed" in arguments.tasks:
        searches = {"ours": ours(threads, arguments.batch)}
        if "hugging_face" in others:
            searches["hugging_face"] = others["hugging_face"]
        sources, lengths = mixed_sentences(arguments.sentences, arguments.order)
        rates = measure(
            searches, (sources, 4, lengths), max(arguments.rounds // 2, 1), clock
        )
        show(
            "mixed",
            f"{len(sources)} real lengths in order of {arguments.order}, beam 4",
            rates,
        )


if __name__ == "__main__":
    main()
