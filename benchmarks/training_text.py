"""Training on real text from end to end, beside Hugging Face's `Seq2SeqTrainer`.

    python benchmarks/training_text.py [--torch-python PYTHON] [--data FOLDER]

Both get the same token ids of Tatoeba en-de at their real lengths and the same model
(T5-1.1 shaped, Adafactor); ours packs them into rows and runs its mixture, theirs
sorts them into batches by length (`group_by_length`) of about as many target tokens.
Figures: useful target tokens, padding left out, per second of steady training, first
step and compilation left out; runs alternate, medians. Evaluation and checkpoints are
off. `--torch-python`: an interpreter with `torch`, `transformers` and `accelerate`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "tatoeba" / "en-de"
# d, ff, layers a side, heads, vocabulary.
SHAPES = {"tiny": (128, 512, 2, 4, 4_000), "d = 64": (64, 256, 2, 4, 512)}
BATCH_TOKENS = 1024
STEPS = 60
PAIRS = 8_000
SIDES = ("source", "target")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, shape, tokens = arguments.child
        rate = CANDIDATES[name](SHAPES[shape], Path(tokens), *arguments.threads)
        print(json.dumps(rate))
        return
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            tokens = prepare(arguments.data, shape, Path(folder))
            for threads in arguments.threads:
                compare(arguments, shape, tokens, threads)


def compare(
    arguments: argparse.Namespace, shape: str, tokens: Path, threads: int
) -> None:
    """Prints the candidates at one shape and number of threads."""
    rates: dict[str, list[float]] = {name: [] for name in CANDIDATES}
    for _ in range(arguments.rounds):
        for name, found in rates.items():
            found.append(run(arguments, name, shape, tokens, threads))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    print(f"{shape} {SHAPES[shape]}, {threads} threads")
    for name, rate in medians.items():
        ratio = medians["ours"] / rate
        print(f"  {name:20} {rate:9,.0f} target tokens/s   ours / this {ratio:.2f}")


def prepare(data: Path, shape: str, folder: Path) -> Path:
    """Tokenises the text with our own steps; returns the artifact."""
    import numpy as np

    from components import ingest, tokenize
    from components.artifacts.token_rows import load_rows
    from pipeline import loader

    sides = {
        "source": str(data / "train.en.txt.gz"),
        "target": str(data / "train.de.txt.gz"),
    }
    config = loader.build(ingest.Config, {"source": "text", "text": {"en-de": sides}})
    ingest.run(config, base=folder, tasks=("en-de",), output=folder / "ingest")
    tokenize.run(
        tokenize.Config(vocabulary_size=SHAPES[shape][4]),
        ingest=folder / "ingest",
        tasks=("en-de",),
        output=folder / "tokenize",
    )
    split = load_rows(folder / "tokenize", "en-de", "train").take(np.arange(PAIRS // 2))
    pairs = []
    for row in range(PAIRS // 2):
        sides = [(split[f"{s}_ids"][row], split[f"{s}_segments"][row]) for s in SIDES]
        for segment in range(1, int(sides[0][1].max()) + 1):
            pairs.append([ids[own == segment].tolist() for ids, own in sides])
    (folder / "pairs.json").write_text(json.dumps(pairs[:PAIRS]))
    return folder / "tokenize"


def run(
    arguments: argparse.Namespace, name: str, shape: str, tokens: Path, threads: int
) -> float:
    """Useful target tokens a second of one candidate, in a process of its own."""
    python = arguments.torch_python if name.startswith("HF") else sys.executable
    options = ["--child", name, shape, str(tokens), "--threads", str(threads)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "OMP_NUM_THREADS": str(threads),
        "USE_TF": "0",  # Transformers would look for a Keras of its own
    }
    done = subprocess.run(
        [python, __file__, *options], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{name} cannot run: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def ours(
    precision: str, jit: str, shape: tuple[int, ...], tokens: Path, threads: int
) -> float:
    """The program and the mixture of a sweep."""
    import numpy as np
    from training_candidates import use_tensorflow

    use_tensorflow(threads, shape[0], precision, jit)
    from components.train import mixture
    from components.train.config import Config
    from components.train.model_stack import ModelStack
    from components.train.rows import Rows
    from models.nmt.sizes import Shape

    d, ff, layers, heads, vocabulary = shape
    config = Config(
        sizes=("2k",),
        mixtures=(1.0,),
        batch_tokens=BATCH_TOKENS,
        precision=precision,
        jit=jit,
    )
    own = Shape("benchmark", layers, layers, d, heads, d // heads, ff)
    program = ModelStack(config, own, vocabulary, [0])
    rows = Rows.load(tokens, ("en-de",))
    stream = mixture.batches(
        rows,
        np.ones((1, 1)),
        np.zeros(1),
        batch_rows=BATCH_TOKENS // rows.lengths[1],
        steps_per_execution=config.steps_per_execution,
        start_step=0,
        stop_step=STEPS + config.steps_per_execution,
        drawn=np.zeros((1, 1), np.int64),
    )
    start, useful = 0.0, 0
    for fields, (_, seen) in stream:
        program.train(fields)
        if not start:
            start = time.perf_counter()  # compiled
        else:
            useful += int(seen.numpy()[..., 1].sum())
    return useful / (time.perf_counter() - start)


def hugging_face(
    half: bool, shape: tuple[int, ...], tokens: Path, threads: int
) -> float:
    """`Seq2SeqTrainer` with batches grouped by length."""
    import torch
    import transformers
    from training_candidates import t5

    torch.set_num_threads(threads)
    pairs = json.loads((tokens.parent / "pairs.json").read_text())
    length = sum(len(target) for _, target in pairs) / len(pairs)
    seen: list[tuple[float, int]] = []

    def collate(batch: list[dict]) -> dict:
        def padded(name: str, filler: int) -> torch.Tensor:
            rows = [torch.tensor(example[name]) for example in batch]
            return torch.nn.utils.rnn.pad_sequence(rows, True, filler)

        labels = padded("labels", -100)
        seen.append((time.perf_counter(), int((labels != -100).sum())))
        source = padded("input_ids", 0)
        return {
            "input_ids": source,
            "attention_mask": (source != 0).long(),
            "labels": labels,
        }

    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Seq2SeqTrainer(
            model=t5(*shape),
            args=transformers.Seq2SeqTrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=max(1, round(BATCH_TOKENS / length)),
                group_by_length=True,
                max_steps=STEPS,
                optim="adafactor",
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
                bf16=half,
            ),
            train_dataset=[
                {"input_ids": source, "labels": target} for source, target in pairs
            ],
            data_collator=collate,
        )
        trainer.train()
        end = time.perf_counter()
    # The loader makes a batch ahead: what it made by step 10 is trained by the end.
    warm = 10
    return sum(tokens for _, tokens in seen[warm:STEPS]) / (end - seen[warm][0])


CANDIDATES = {
    "ours": functools.partial(ours, "float32", "auto"),
    "ours, step in XLA": functools.partial(ours, "float32", "on"),
    "ours, bfloat16": functools.partial(ours, "mixed_bfloat16", "auto"),
    "HF Seq2SeqTrainer": functools.partial(hugging_face, False),
    "HF, bfloat16": functools.partial(hugging_face, True),
}


if __name__ == "__main__":
    main()
