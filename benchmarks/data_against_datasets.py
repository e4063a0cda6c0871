"""Ingest and tokenize against the same work written with Hugging Face ``datasets``.

    python benchmarks/data_against_datasets.py [--data FOLDER] [--repeat 2] [--lines N]

Needs the package ``datasets``, which the project itself does not; says so and stops
where it is not installed. The same text, the same repair and rules (the very same
functions), exact duplicates, 1,000 held-out sentences a task that no training pair
shares a side with, the same vocabulary, tokens packed into rows of 64 + 64, on
disk. There it is ``map`` and ``filter`` with ``num_proc=2`` in batches; here it is
``ingest`` and ``tokenize`` as they are by default, which also look for whole
components, write every rejected pair down with its reason, and measure the data
card. The training of the vocabulary is in neither figure. Each run is a process of
its own; the two take turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
TASKS = ("en-de", "en-fr")
CORPORA = ("tatoeba", "techdocs")
TEST_SENTENCES = 1000
PROCESSES = 2
_SAMPLE = 10_000  # sentences of each side that the vocabulary is trained on


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--lines", type=int, help="lines of each corpus at most")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if importlib.util.find_spec("datasets") is None:
        print("the package datasets is not installed: nothing to compare with")
        return
    if arguments.case:
        print(json.dumps(CASES[arguments.case](Path(os.environ["BENCHMARK_BASE"]))))
        return
    if not arguments.data.is_dir():
        print(f"{arguments.data}: no such folder; name one with --data")
        return
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        _copy_text(arguments.data, base, arguments.lines)
        _train_vocabulary(base)
        compare(base, arguments.repeat)


def compare(base: Path, repeat: int) -> None:
    """Runs both in turn and prints the ratio of their fastest runs."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CASES}
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "BENCHMARK_BASE": str(base),
        "HF_HOME": str(base / "cache"),
        "HF_DATASETS_OFFLINE": "1",
    }
    for _ in range(repeat):
        for name in CASES:
            command = [sys.executable, __file__, "--case", name]
            done = subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    for name, runs in found.items():
        best = min(runs, key=lambda run: run["seconds"])
        print(
            f"{name}: {best['seconds']:.1f} s ({best['start']:.1f} s of imports "
            f"before), {best['pairs']:,} pairs to train on, {best['tokens']:,} tokens"
        )
    ours, theirs = (min(run["seconds"] for run in found[name]) for name in CASES)
    print(f"ratio: {theirs / ours:.2f} (bar: 1.0)")


def run_polyscale(base: Path) -> dict[str, Any]:
    """Both steps of the project."""
    started = time.monotonic()
    import apache_beam  # noqa: F401
    import sentencepiece  # noqa: F401

    from components import ingest, tokenize
    from components.ingest.config import TextTask

    imported = time.monotonic()
    text = {task: TextTask(f"{task}.source", f"{task}.target") for task in TASKS}
    config = ingest.Config(source="text", text=text, test_sentences=TEST_SENTENCES)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        clean, tokens = Path(folder) / "ingest", Path(folder) / "tokenize"
        counts = ingest.run(config, base=base, tasks=TASKS, output=clean).counts
        index = tokenize.run(
            tokenize.Config(vocabulary_size=2000, model="vocabulary.model"),
            ingest=clean,
            tasks=TASKS,
            output=tokens,
            base=base,
        ).counts
        ended = time.monotonic()
    splits = [split for task in index.values() for split in task["splits"].values()]
    return {
        "start": imported - started,
        "seconds": ended - imported,
        "pairs": sum(row["train"] for row in counts.values()),
        "tokens": sum(s["source_tokens"] + s["target_tokens"] for s in splits),
    }


def run_datasets(base: Path) -> dict[str, Any]:
    """The same with ``datasets``."""
    started = time.monotonic()
    import datasets

    datasets.disable_progress_bars()
    imported = time.monotonic()
    pairs = tokens = 0
    with tempfile.TemporaryDirectory(dir=base) as folder:
        cleaned = {
            task: _clean_with_datasets(datasets, base, task, folder) for task in TASKS
        }
        held_out = {
            task: cleaned[task].sort("source_key").select(range(TEST_SENTENCES))
            for task in TASKS
        }
        keys = {key for part in held_out.values() for key in _keys(part)}
        for task in TASKS:
            train = cleaned[task].filter(
                _without(keys), input_columns=list(_KEYS), **_BATCHED
            )
            pairs += len(train)
            for name, part in (("train", train), ("test", held_out[task])):
                part.select_columns(["source", "target"]).to_json(
                    f"{folder}/{task}-{name}.jsonl.gz", num_proc=PROCESSES
                )
                rows = part.map(
                    _tokenised(base, task), remove_columns=part.column_names, **_BATCHED
                )
                rows.save_to_disk(f"{folder}/{task}-{name}-tokens", num_proc=PROCESSES)
                tokens += sum(rows.with_format("numpy")["tokens"][:])
    return {
        "start": imported - started,
        "seconds": time.monotonic() - imported,
        "pairs": pairs,
        "tokens": int(tokens),
    }


_BATCHED = {"batched": True, "batch_size": 4096, "num_proc": PROCESSES}
_KEYS = ("source_key", "target_key")


def _clean_with_datasets(datasets: Any, base: Path, task: str, folder: str) -> Any:
    """The clean pairs of a task, each once."""
    sides = [
        datasets.load_dataset(
            "text",
            data_files=str(base / f"{task}.{side}"),
            split="train",
            cache_dir=f"{folder}/cache",
        ).rename_column("text", side)
        for side in ("source", "target")
    ]
    both = datasets.concatenate_datasets(sides, axis=1)
    clean = both.map(_cleaned, fn_kwargs={"task": task}, **_BATCHED)
    seen: set[int] = set()

    def fresh(key: int) -> bool:
        return not (key in seen or seen.add(key))

    return clean.filter(fresh, input_columns="pair_key")


def _cleaned(batch: Mapping[str, list[str]], task: str) -> dict[str, Any]:
    """The rules of the project on a batch, and the keys of what is left."""
    import numpy as np

    from components.ingest.cleaning.pairs import Pairs
    from components.ingest.cleaning.repair import repair
    from components.ingest.cleaning.rules import Rules
    from components.ingest.duplicates.keys import pair_keys, sentence_keys

    sides = zip(repair(batch["source"]), repair(batch["target"]), strict=True)
    whole = [(source, target) for source, target in sides if source and target]
    sources, targets = (list(side) for side in zip(*whole, strict=True))
    pairs = Pairs(sources, targets, tuple(task.split("-")))
    for _ in Rules().ask(pairs):
        pass
    kept = np.flatnonzero(pairs.open).tolist()
    sources, targets = [sources[i] for i in kept], [targets[i] for i in kept]
    return {
        "source": sources,
        "target": targets,
        "source_key": sentence_keys(sources, 0),
        "target_key": sentence_keys(targets, 0),
        "pair_key": pair_keys(task, sources, targets, 0),
    }


def _keys(part: Any) -> list[int]:
    return [*part["source_key"], *part["target_key"]]


def _without(keys: set[int]) -> Any:
    def kept(sources: Sequence[int], targets: Sequence[int]) -> list[bool]:
        ends = zip(sources, targets, strict=True)
        return [source not in keys and target not in keys for source, target in ends]

    return kept


def _tokenised(base: Path, task: str) -> Any:
    """A batch to packed rows, by the project's own functions."""
    model = (base / "vocabulary.model").read_bytes()

    def tokenised(batch: Mapping[str, list[str]]) -> dict[str, Any]:
        from components.tokenize import packing
        from components.tokenize.vocabulary import Vocabulary

        vocabulary = Vocabulary(model)
        tag = f"<2{task[-2:]}>"
        source = vocabulary.encode(batch["source"], tag)
        target = vocabulary.encode(batch["target"])
        plan = packing.plan(
            source.lengths,
            target.lengths,
            source_length=64,
            target_length=64,
            window=1024,
        )
        columns = plan.lay_out(source, target) | {"examples": plan.examples}
        kept = (columns[f"{side}_segments"] > 0 for side in ("source", "target"))
        return {**columns, "tokens": sum(used.sum(1) for used in kept)}

    return tokenised


CASES = {"polyscale": run_polyscale, "datasets": run_datasets}


def _copy_text(data: Path, base: Path, most: int | None) -> None:
    """The text of each task in two plain files."""
    from components.ingest.sources.text_files import chunks

    for task in TASKS:
        for side, language in zip(("source", "target"), task.split("-"), strict=True):
            with open(base / f"{task}.{side}", "wb") as file:
                for corpus in CORPORA:
                    (path,) = (data / corpus / task).glob(f"train.{language}.txt*")
                    lines = b"".join(chunks(str(path))).split(b"\n")[:-1][:most]
                    file.write(b"\n".join(lines) + b"\n")


def _train_vocabulary(base: Path) -> None:
    from components import tokenize
    from components.tokenize import vocabulary

    texts = {
        f"{task}.{side}": (base / f"{task}.{side}")
        .read_text("utf-8")
        .split("\n")[:9999]
        for task in TASKS
        for side in ("source", "target")
    }
    tags = {f"<2{task[-2:]}>" for task in TASKS}
    model = vocabulary.train(tokenize.Config(vocabulary_size=2000), texts, tags)
    (base / "vocabulary.model").write_bytes(model)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
