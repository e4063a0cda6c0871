"""How well select ranks, and what training gains from it, on text with known noise.

    python benchmarks/selection.py [--tasks en-de,en-fr] [--train en-de] [--models]

Three tenths of each text are defects of known kinds: fuzzy translations, copies,
targets of other pairs, machine output. The score sees no label. Then two small models
are trained for one task, on the half with the best scores and on a random half, and
tested on clean text. Needs the folder of parallel text (--data).
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from components import manifest, select, tokenize, train
from components.ingest.config import TextTask
from components.manifest import Manifest
from components.select.config import Contrastive
from components.text_shards import TRAIN, read_shard, shard_bytes, split_shards
from components.trial import Trial

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
BARS = {"misaligned": 0.90, "copied": 0.90, "fuzzy": 0.75}
SHARDS = 4
NOISE = 0.3
Pair = tuple[str, str]
ROWS = tokenize.Config(vocabulary_size=4000, source_length=96, target_length=96)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tasks", default="en-de,en-fr,en-zh")
    parser.add_argument("--train", default="en-de", help="task to train on; or none")
    parser.add_argument("--pairs", type=int, default=20_000, help="of each text")
    parser.add_argument("--models", action="store_true", help="contrastive score too")
    parser.add_argument("--size", default="74k")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(
        f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, commit {_commit()}"
    )
    if not arguments.data.is_dir():
        print(f"{arguments.data}: not there; nothing to measure")
        return
    with tempfile.TemporaryDirectory() as folder:
        for task in arguments.tasks.split(","):
            measure(arguments, task, Path(folder) / task)


def measure(arguments: argparse.Namespace, task: str, folder: Path) -> None:
    """Ranks the text of one task; trains on it where that is asked for."""
    rng = np.random.default_rng(arguments.seed)
    rows = noisy_text(arguments.data, task, arguments.pairs, rng)
    tests = parallel(arguments.data / "techdocs" / task, "test", task)
    write_ingest(folder / "ingest", task, [row[:2] for row in rows], tests)
    kinds = np.array([kind for *_, kind in rows])
    print(
        f"\n{task}: " + ", ".join(f"{(kinds == k).sum()} {k}" for k in sorted({*kinds}))
    )
    configs = {"cheap": select.Config(seed=arguments.seed)}
    if arguments.models:
        trusted = {task: TextTask(*_paths(arguments.data, task, "dev"))}
        contrastive = Contrastive(
            trusted=trusted,
            size=arguments.size,
            steps=arguments.steps,
            tuning_steps=max(10, arguments.steps // 10),
        )
        configs["contrastive"] = select.Config(contrastive=contrastive)
    for name, config in configs.items():
        output = folder / name
        made = select.run(
            config,
            ingest=folder / "ingest",
            tasks=(task,),
            output=output,
            tokenize=ROWS,
        )
        show_ranking(name, made, scores_of(output / task), kinds)
    if task == arguments.train:
        show_losses(arguments, task, folder, list(configs), rows, tests)


def show_ranking(
    name: str, made: Manifest, scores: np.ndarray, kinds: np.ndarray
) -> None:
    """One line for each kind of noise."""
    print(f"  {name} score, {made.seconds:.0f} s")
    for kind in sorted({*kinds} - {"clean", "edited"}):
        # Machine output is compared with what people made of the same output.
        good = "edited" if kind == "machine" else "clean"
        found = auc(scores[kinds == good], scores[kinds == kind])
        bar = f" (bar: {BARS[kind]:.2f})" if kind in BARS else ""
        against = " against its post-edits" if kind == "machine" else ""
        print(f"    AUC {kind}{against} {found:.3f}{bar}")
    half = scores >= np.median(scores)
    left = 1 - np.isin(kinds[half], ("clean", "edited")).mean()
    print(f"    noise {NOISE:.0%} before, {left:.1%} in the better half")


def show_losses(
    arguments: argparse.Namespace,
    task: str,
    folder: Path,
    selected: list[str],
    rows: list[tuple[str, str, str]],
    tests: list[Pair],
) -> None:
    """Test losses of models trained on halves of the text."""
    rng = np.random.default_rng(arguments.seed + 1)
    half = np.sort(rng.permutation(len(rows))[: len(rows) // 2])
    write_ingest(folder / "random", task, [rows[i][:2] for i in half], tests)
    write_ingest(folder / "all", task, [row[:2] for row in rows], tests)
    tokenize.run(
        ROWS, ingest=folder / "all", tasks=(task,), output=folder / "tokens-all"
    )
    # One vocabulary for all, or the losses could not be compared.
    own = tokenize.Config(
        **{**vars(ROWS), "model": f"{folder}/tokens-all/vocabulary.model"}
    )
    print(
        f"  models of {arguments.size} after {arguments.steps} steps, one vocabulary, "
        f"{len(tests)} clean test pairs"
    )
    losses = {}
    for name in ("random", *selected):
        tokens = folder / f"tokens-{name}"
        tokenize.run(own, ingest=folder / name, tasks=(task,), output=tokens)
        losses[name] = test_loss(arguments, task, tokens, folder / f"train-{name}")
        gain = losses["random"] - losses[name]
        told = (
            "" if name == "random" else f", {gain:+.3f} better than random (bar: > 0)"
        )
        print(f"    {name} half: {losses[name]:.3f} nats a token{told}", flush=True)


def test_loss(
    arguments: argparse.Namespace, task: str, tokens: Path, output: Path
) -> float:
    """Trains one small model; its loss on the clean test set."""
    config = train.Config(
        sizes=(arguments.size,),
        mixtures=(1.0,),
        seeds=(arguments.seed,),
        steps=arguments.steps,
        batch_tokens=2048,
        warmup_steps=min(300, arguments.steps),
    )
    trial = Trial("selection", arguments.size, ((task, 1.0),), arguments.seed)
    train.run(config, trials=(trial,), tokens=tokens, output=output)
    with open(output / trial.id / "curve.csv", encoding="utf-8") as file:
        last = [row for row in csv.DictReader(file) if row["origin"] == "mixed"][-1]
    return float(last["loss"])


def noisy_text(
    data: Path, task: str, count: int, rng: np.random.Generator
) -> list[tuple[str, str, str]]:
    """Source, target and kind of ``count`` pairs, three tenths of them noise."""
    clean = parallel(data / "techdocs" / task, TRAIN, task)
    clean = [clean[i] for i in rng.permutation(len(clean))]
    noise = round(NOISE * count)
    found = {
        "fuzzy": parallel(data / "dirty" / "po_fuzzy" / task, "fuzzy", task),
        "copied": parallel(data / "dirty" / "po_copies" / task, "copies", task),
    }
    machine, edited = machine_output(data / "dirty" / "mlqe_pe" / task)
    found["machine"] = machine
    for kind, pairs in found.items():
        order = rng.permutation(len(pairs))[: noise // 4]
        found[kind] = [pairs[i] for i in order]
    taken = count - noise - len(edited[: noise // 8])
    if len(clean) < taken + noise // 4:
        raise SystemExit(f"{task}: {len(clean)} clean pairs; ask for fewer (--pairs)")
    left = noise - sum(map(len, found.values()))
    others = clean[taken : taken + left]
    shifted = [others[(i + 1) % len(others)][1] for i in range(len(others))]
    found["misaligned"] = [(s, t) for (s, _), t in zip(others, shifted, strict=True)]
    found |= {"clean": clean[:taken], "edited": edited[: noise // 8]}
    rows = [(*pair, kind) for kind, pairs in found.items() for pair in pairs]
    return [rows[i] for i in rng.permutation(len(rows))]


def machine_output(folder: Path) -> tuple[list[Pair], list[Pair]]:
    """Machine output that needed much editing, and what editing made of it."""
    if not folder.is_dir():
        return [], []
    parts = {
        name: [x for s in ("dev", "test") for x in lines(folder / f"{s}.{name}.txt")]
        for name in ("src", "mt", "pe", "hter")
    }
    bad = [i for i, rate in enumerate(parts["hter"]) if float(rate) >= 0.3]
    return (
        [(parts["src"][i], parts["mt"][i]) for i in bad],
        [(parts["src"][i], parts["pe"][i]) for i in bad],
    )


def parallel(folder: Path, name: str, task: str) -> list[Pair]:
    """Line-aligned pairs."""
    sides = [lines(_find(folder, f"{name}.{language}")) for language in task.split("-")]
    return list(zip(*sides, strict=True))


def lines(path: Path) -> list[str]:
    """Lines of a file, which may be compressed."""
    if path.suffix == ".gz":
        import gzip

        return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_ingest(folder: Path, task: str, rows: list[Pair], tests: list[Pair]) -> None:
    """An artifact as ``ingest`` leaves it, without its rules: all noise is in it."""
    (folder / task).mkdir(parents=True)
    for index in range(SHARDS):
        name = f"{TRAIN}-{index:05d}-of-{SHARDS:05d}.jsonl.gz"
        _write(
            folder / task / name,
            np.array_split(np.arange(len(rows)), SHARDS)[index],
            rows,
        )
    name = "in_domain-00000-of-00001.jsonl.gz"
    _write(folder / task / name, np.arange(len(tests)), tests)
    counts = {task: {TRAIN: len(rows)}}
    described = {"rows": len(rows), "first": rows[0]}
    manifest.seal(
        folder, verb="ingest", config=described, inputs={}, counts=counts, seconds=1.0
    )


def _write(path: Path, chosen: np.ndarray, pairs: list[Pair]) -> None:
    own = (pairs[i] for i in chosen.tolist())
    path.write_bytes(shard_bytes({"source": s, "target": t} for s, t in own))


def scores_of(folder: Path) -> np.ndarray:
    """The scores of a task in the order of its text."""
    paths = sorted(folder.glob("scores-*.npy"))
    scores = np.concatenate([np.load(path) for path in paths])
    kept = sum(1 for path in split_shards(folder, TRAIN) for _ in read_shard(path))
    assert kept == scores["kept"].sum()
    return scores["score"]


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    """How often a good pair has the better score than a bad one; ties count half."""
    bad = np.sort(bad)
    below = np.searchsorted(bad, good, side="left")
    not_above = np.searchsorted(bad, good, side="right")
    return float((below + not_above).mean() / 2 / len(bad))


def _paths(data: Path, task: str, name: str) -> tuple[str, str]:
    folder = (data / "techdocs" / task).resolve()
    source, target = (str(_find(folder, f"{name}.{side}")) for side in task.split("-"))
    return source, target


def _find(folder: Path, stem: str) -> Path:
    for ending in (".txt", ".txt.gz"):
        if (folder / (stem + ending)).is_file():
            return folder / (stem + ending)
    raise SystemExit(f"{folder}/{stem}.txt: not there")


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
