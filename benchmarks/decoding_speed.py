"""Sentences a second: ours, CTranslate2 called directly, Hugging Face ``generate``.

    python benchmarks/decoding_speed.py [--turns 9] [--peer PYTHON]

A random model of the T5 block translates 2,000 sentences with the lengths of written
text; every engine makes 32 target tokens of each on all cores: CTranslate2 one batch a
core (``inter_threads``), as its documentation recommends for throughput, PyTorch one
batch on all cores. Batches have 64 sentences. The engines take turns; loading and a
first turn are not counted. ``--peer`` is a Python with torch and transformers (see
requirements-peers.lock), which runs in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

BATCH, STEPS, SENTENCES = 64, 32, 2000
PEER = """
import sys, time
import numpy as np, torch, transformers
folder, beams, batch, steps, is_sorted = sys.argv[1], *map(int, sys.argv[2:])
model = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
sentences = [line.split() for line in open(folder + "/sentences.txt")]
if is_sorted:
    sentences.sort(key=len)
print("torch", torch.__version__, "transformers", transformers.__version__, flush=True)
for _ in sys.stdin:
    started = time.perf_counter()
    for first in range(0, len(sentences), batch):
        rows = sentences[first : first + batch]
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        for row, words in zip(ids, rows):
            row[: len(words)] = torch.tensor([int(word) for word in words])
        with torch.inference_mode():
            model.generate(
                input_ids=ids, attention_mask=(ids > 0).long(), num_beams=beams,
                do_sample=False, min_new_tokens=steps, max_new_tokens=steps,
            )
    print(time.perf_counter() - started, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--peer", default=None, help="Python with torch, transformers")
    arguments = parser.parse_args()
    from components.engines.cores import available_cores

    names = ("ctranslate2", "numpy", "sentencepiece")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    print(f"{processor()}, {available_cores()} cores; {versions}")
    with tempfile.TemporaryDirectory() as folder:
        for beams in (4, 1):
            engines = make_engines(Path(folder), beams, arguments)
            for run in engines.values():
                run()
            seconds: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(arguments.turns):
                for name, run in engines.items():
                    seconds[name].append(run())
            show(beams, seconds, arguments.sentences)


def processor() -> str:
    """Name of the processor and the vector extensions that matter here."""
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.is_file() else ""
    fields = dict(
        (part.strip() for part in line.split(":", 1))
        for line in text.splitlines()
        if ":" in line
    )
    flags = fields.get("flags", "").split()
    known = [name for name in ("avx2", "avx512f", "amx_tile") if name in flags]
    return f"{fields.get('model name', platform.processor())} ({' '.join(known)})"


def make_engines(
    folder: Path, beams: int, arguments: argparse.Namespace
) -> dict[str, Callable[[], float]]:
    """Name -> runs one turn and returns its seconds."""
    import ctranslate2
    import numpy as np

    from components.engines.cores import available_cores
    from components.serve.checkpoint_formats import export_checkpoint
    from components.serve.translator import Translator
    from models.nmt.search_options import SearchOptions

    trained = random_model()
    rng = np.random.default_rng(2)
    lengths = np.clip(rng.lognormal(2.4, 0.5, arguments.sentences).astype(int), 2, 80)
    sources = [
        [*rng.integers(3, trained.vocabulary.size, n).tolist(), 1] for n in lengths
    ]
    pieces = trained.vocabulary.pieces
    tokens = [[pieces[i] for i in ids] for ids in sources]
    options = SearchOptions(beams=beams, max_length_ratio=0, max_length_extra=STEPS)
    export_checkpoint(trained, "ctranslate2", folder / f"ctranslate2-{beams}")
    export_checkpoint(trained, "huggingface", folder / f"huggingface-{beams}")
    text = "".join(" ".join(map(str, ids)) + "\n" for ids in sources)
    (folder / f"huggingface-{beams}" / "sentences.txt").write_text(text)

    def ours(compute_type: str) -> Callable[[], float]:
        translator = Translator(
            trained, options, compute_type=compute_type, batch=BATCH
        )
        return lambda: timed(lambda: translator.translate(sources))

    def direct(compute_type: str) -> Callable[[], float]:
        translator = ctranslate2.Translator(
            str(folder / f"ctranslate2-{beams}"), compute_type=compute_type,
            inter_threads=available_cores(), intra_threads=1,
        )  # fmt: skip
        return lambda: timed(
            lambda: translator.translate_batch(
                tokens,
                max_batch_size=BATCH,
                beam_size=beams,
                return_scores=True,
                max_decoding_length=STEPS,
                min_decoding_length=0,
            )  # fmt: skip
        )

    engines = {}
    for compute_type in ("float32", "int8"):
        engines[f"polyscale {compute_type}"] = ours(compute_type)
        engines[f"CTranslate2 direct {compute_type}"] = direct(compute_type)
    if arguments.peer:
        for is_sorted, order in ((0, "file order"), (1, "sorted")):
            engines[f"HF generate, {order}"] = peer(
                arguments.peer, folder / f"huggingface-{beams}", beams, is_sorted
            )
    return engines


def random_model():
    """A model of two layers a side with a vocabulary of made-up pieces."""
    import io

    import sentencepiece

    from components.engines.tensorflow_start import start_tensorflow
    from components.serve.trained import Trained
    from components.tokenize.vocabulary import Vocabulary
    from models.nmt.sizes import Shape

    start_tensorflow()
    from models.nmt.transformer import Transformer

    words = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(f"w{i}" for i in range(4000)), model_writer=words,
        user_defined_symbols=[f"<{i}>" for i in range(3900)], vocab_size=4000,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    vocabulary = Vocabulary(words.getvalue())
    shape = Shape("benchmark", 2, 2, 128, 8, 16, 512)
    model = Transformer(shape, vocabulary.size)
    model.build()
    model.initialise([1])
    # Ends no sentence.
    kernel = model.softmax.kernel.numpy()
    kernel[:, 1] = 0.0
    model.softmax.kernel.assign(kernel)
    weights = {v.path: v.numpy() for v in model.trainable_variables}
    return Trained("benchmark", shape, weights, vocabulary, {}, {}, 100)


def peer(python: str, folder: Path, beams: int, is_sorted: int) -> Callable[[], float]:
    """Hugging Face in another process, which runs one turn for each line it gets."""
    command = [
        python,
        "-c",
        PEER,
        str(folder),
        *map(str, (beams, BATCH, STEPS, is_sorted)),
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    print(process.stdout.readline().strip(), file=sys.stderr)

    def run() -> float:
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    return run


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def show(beams: int, seconds: dict[str, list[float]], sentences: int) -> None:
    """A table: sentences a second, median and range over the turns."""
    print(f"\nbeam {beams}, {STEPS} target tokens, sentences a second\n")
    print(f"{'':<30} {'median':>8} {'lowest':>8} {'highest':>8}")
    for name, times in seconds.items():
        rates = sorted(sentences / one for one in times)
        middle = statistics.median(rates)
        print(f"{name:<30} {middle:>8.0f} {rates[0]:>8.0f} {rates[-1]:>8.0f}")


if __name__ == "__main__":
    main()
