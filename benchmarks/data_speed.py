"""How fast ingest and tokenize are, and how much memory they take.

    python benchmarks/data_speed.py [--data FOLDER] [--repeat 2]

Each case runs in a process of its own. With a folder of parallel text (tatoeba and
techdocs, line-aligned) it measures that; without, synthetic sentences. The cost of
a run of forty pairs is reported as the fixed cost, and speeds are beyond it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(run_case(json.loads(arguments.case))))
        return
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, commit {_commit()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        _write_forty_pairs(base)
        fixed = _fastest(arguments, base, "fixed", {"en-de": ("a.en", "a.de")}, 4)
        if arguments.data.is_dir():
            text = {
                task: (
                    f"{arguments.data.resolve()}/*/{task}/train.{task[:2]}.txt*",
                    f"{arguments.data.resolve()}/*/{task}/train.{task[3:]}.txt*",
                )
                for task in ("en-de", "en-fr")
            }
            whole = _fastest(arguments, base, "text", text, 1000)
        else:
            whole = _fastest(arguments, base, "synthetic", {}, 1000)
    _print(fixed, whole)


def run_case(case: dict) -> dict:
    """Runs both steps once and measures them."""
    started = time.monotonic()
    from components import ingest, tokenize
    from components.ingest.config import SyntheticConfig, TextTask

    tasks = tuple(case["text"]) or ("en-de", "en-fr")
    text = {task: TextTask(*pair) for task, pair in case["text"].items()}
    config = ingest.Config(
        source="text" if text else "synthetic",
        text=text,
        synthetic=SyntheticConfig(train_sentences=100_000),
        test_sentences=case["test_sentences"],
    )
    output = Path(case["output"])
    manifest = ingest.run(config, base=Path(case["base"]), tasks=tasks, output=output)
    ingested, ingested_cpu = time.monotonic(), time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = 50  # for forty pairs
    if case["test_sentences"] == 1000:
        size = 2000 if text else 400  # synthetic words have few pieces
    tokens = output.with_name(f"{output.name}-tokens")
    index = tokenize.run(
        tokenize.Config(vocabulary_size=size), ingest=output, tasks=tasks, output=tokens
    ).counts
    tokenized, tokenized_cpu = time.monotonic(), time.process_time()
    vocabulary_seconds, vocabulary_cpu = _vocabulary_cost(output, tasks, size)
    splits = [split for task in index.values() for split in task["splits"].values()]
    return {
        "read": sum(row["read"] for row in manifest.counts.values()),
        "bytes": sum(_text_bytes(output / task) for task in tasks),
        "ingest_seconds": ingested - started,
        "ingest_memory": memory,
        "ingest_cpu": ingested_cpu,
        "vocabulary_seconds": vocabulary_seconds,
        "tokenize_seconds": tokenized - ingested - vocabulary_seconds,
        "tokenize_cpu": tokenized_cpu - ingested_cpu - vocabulary_cpu,
        "tokens": sum(s["source_tokens"] + s["target_tokens"] for s in splits),
        "fill": {
            task: described["splits"]["train"]["fill"]
            for task, described in index.items()
        },
    }


def _vocabulary_cost(
    output: Path, tasks: tuple[str, ...], size: int
) -> tuple[float, float]:
    """Wall and processor seconds of the vocabulary, made again, alone: they depend
    on the size of a sample, not of the text."""
    from components import tokenize
    from components.artifacts import manifest
    from components.tokenize import vocabulary, vocabulary_text

    started, started_cpu = time.monotonic(), time.process_time()
    config = tokenize.Config(vocabulary_size=size)
    counts = manifest.load(output).counts
    pairs = {task: counts[task]["train"] for task in tasks}
    texts = vocabulary_text.read(output, pairs, config.sentences, None)
    tags = vocabulary.target_tags(tasks).values()
    vocabulary.train(config, texts, {tag for tag in tags if tag})
    return time.monotonic() - started, time.process_time() - started_cpu


def _fastest(
    arguments: argparse.Namespace,
    base: Path,
    name: str,
    text: dict[str, tuple[str, str]],
    test_sentences: int,
) -> dict:
    found = []
    for repetition in range(arguments.repeat):
        case = {
            "base": str(base),
            "text": text,
            "test_sentences": test_sentences,
            "output": str(base / f"{name}-{repetition}"),
        }
        command = [sys.executable, __file__, "--case", json.dumps(case)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        found.append(json.loads(done.stdout))
    return {
        key: min(result[key] for result in found)
        if isinstance(value, (int, float))
        else value
        for key, value in found[0].items()
    }


def _print(fixed: dict, whole: dict) -> None:
    memory = whole["ingest_memory"] - fixed["ingest_memory"]
    print(
        f"fixed cost: ingest {fixed['ingest_seconds']:.1f} s with imports, "
        f"vocabulary {whole['vocabulary_seconds']:.1f} s"
    )
    for step, unit, bar in (
        ("ingest", "read", 20_000),
        ("tokenize", "tokens", 1_500_000),
    ):
        seconds = whole[f"{step}_seconds"] - fixed[f"{step}_seconds"]
        cpu = whole[f"{step}_cpu"] - fixed[f"{step}_cpu"]
        print(
            f"{step}: {whole[unit]:,} {'pairs' if unit == 'read' else unit} in "
            f"{whole[f'{step}_seconds']:.1f} s; {whole[unit] / seconds:,.0f}/s, "
            f"by processor time {whole[unit] / cpu:,.0f}/s (bar: {bar:,} on 2 cores)"
        )
    print(
        f"memory of ingest beyond the base: {memory / 1e6:.0f} MB, "
        f"{memory / whole['bytes']:.2f} bytes for each byte of text (bar: 7)"
    )
    for task, fill in whole["fill"].items():
        print(f"fill of {task}: {fill:.3f}")


def _text_bytes(directory: Path) -> int:
    from components.artifacts.text_shards import read_shard

    return sum(
        len(record["source"].encode()) + len(record["target"].encode()) + 2
        for path in directory.glob("*.jsonl.gz")
        for record in read_shard(path)
    )


def _write_forty_pairs(base: Path) -> None:
    for side, word in (("en", "sentence number"), ("de", "Satz Nummer")):
        lines = (f"{word} {i} of {i * i * 7919 % 1000}\n" for i in range(40))
        (base / f"a.{side}").write_text("".join(lines))


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
