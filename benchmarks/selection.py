"""How well select ranks, and what training gains from it, on text with known noise.

    python benchmarks/selection.py [--tasks en-de,en-fr] [--train en-de] [--models ...]

Three tenths of each text are defects of known kinds: fuzzy translations, copies,
targets of other pairs, machine output. The score sees no label. Then small models of
one size are trained for one task, for equally many steps: on a random half, on the
halves with the best scores, on everything, and on everything with less and less of it
(online selection); all are tested on clean text. Needs the folder of parallel text
(--data). With the defaults less than 8 minutes on 2 cores, a third of them models.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import datetime
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from components import select, tokenize, train
from components.artifacts import manifest
from components.artifacts import text_shards as shards
from components.artifacts.trial import Trial
from components.ingest.config import TextTask
from components.select.config import Contrastive
from components.select.contrastive_score import contrast
from components.select.scoring_models import ScoringModels
from components.train.config import Anneal

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
BARS = {"misaligned": 0.90, "copied": 0.90, "fuzzy": 0.75}
SHARDS = 4
NOISE = 0.3
ALONE = 8000  # pairs on which the contrastive score is asked alone
Pair = tuple[str, str]
ROWS = tokenize.Config(vocabulary_size=4000, source_length=96, target_length=96)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tasks", default="en-de,en-fr,en-zh")
    parser.add_argument("--train", default="en-de", help="task to train on; or none")
    parser.add_argument("--models", default="en-de", help="contrastive scores of these")
    parser.add_argument("--pairs", type=int, default=20_000, help="of each text")
    parser.add_argument("--trusted", type=int, default=4500, help="pairs of it")
    parser.add_argument("--steps", type=int, default=2000, help="of the noisy model")
    parser.add_argument("--size", default="74k", help="of the models that are trained")
    parser.add_argument("--train-steps", type=int, default=1500, help="of those")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to keep what is made")
    arguments = parser.parse_args()
    print(
        f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, commit {_commit()}"
    )
    if not arguments.data.is_dir():
        print(f"{arguments.data}: not there; nothing to measure")
        return
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        for task in arguments.tasks.split(","):
            measure(arguments, task, folder / task)
    print(f"\n{time.monotonic() - started:.0f} s in all")


def measure(arguments: argparse.Namespace, task: str, folder: Path) -> None:
    """Ranks the text of one task; trains on it where that is asked for."""
    rng = np.random.default_rng(arguments.seed)
    rows, rest = noisy_text(arguments.data, task, arguments.pairs, rng)
    tests = parallel(arguments.data / "techdocs" / task, "test", task)
    write_ingest(folder / "ingest", task, [row[:2] for row in rows], tests)
    kinds = np.array([kind for *_, kind in rows])
    counts = (f"{(kinds == k).sum()} {k}" for k in sorted({*kinds}))
    print(f"\n{task}: " + ", ".join(counts))
    configs = {"features": select.Config(seed=arguments.seed)}
    if task in arguments.models.split(","):
        known = parallel(arguments.data / "techdocs" / task, "dev", task)
        trusted = write_lines(folder, task, [*known, *rest][: arguments.trusted])
        contrastive = Contrastive(trusted={task: trusted}, steps=arguments.steps)
        configs["combined"] = select.Config(
            contrastive=contrastive, seed=arguments.seed
        )
    for name, config in configs.items():
        started = time.monotonic()
        select.run(
            config,
            ingest=folder / "ingest",
            tasks=(task,),
            output=folder / name,
            tokenize=ROWS,
        )
        print(f"  select by {name}: {time.monotonic() - started:.0f} s")
    scores = {name: scores_of(folder / name / task) for name in configs}
    scores["random"] = np.random.default_rng(arguments.seed).random(len(rows))
    show_ranking(scores, kinds)
    if "combined" in configs:
        some = rows[:ALONE]
        alone = contrastive_scores(configs["combined"], task, folder, some)
        print(f"  without the feature score, on {len(some)} pairs")
        show_ranking(alone, kinds[:ALONE])
    if task == arguments.train:
        show_losses(arguments, task, folder, rows, tests)


def contrastive_scores(
    config: select.Config, task: str, folder: Path, rows: list[tuple[str, str, str]]
) -> dict[str, np.ndarray]:
    """The contrastive score without the feature score, against each of its models."""
    alone = dataclasses.replace(config.contrastive, features=False)
    config = dataclasses.replace(config, contrastive=alone)
    models = ScoringModels(config, ROWS, (task,), Path(), folder / ".combined-models")
    scorer = models.scorer(task, ())
    parts = [
        scorer.nats(*map(list, zip(*(row[:2] for row in part), strict=True)))
        for part in (rows[i : i + 4096] for i in range(0, len(rows), 4096))
    ]
    nats = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {
        "contrastive (Wang et al.)": contrast(nats, "noisy"),
        "contrastive (corrupted)": contrast(nats, "corrupted"),
        "contrastive (both)": contrast(nats, "both"),
    }


def show_ranking(scores: dict[str, np.ndarray], kinds: np.ndarray) -> None:
    """One line for each score, with the bars below."""
    bad = sorted({*kinds} - {"clean", "edited"})
    print("  AUC" + " " * 23 + "".join(f"{kind:>12}" for kind in (*bad, "noise left")))
    for name, own in scores.items():
        cells = []
        for kind in bad:
            # Machine output is compared with what people made of the same output.
            good = "edited" if kind == "machine" else "clean"
            cells.append(f"{auc(own[kinds == good], own[kinds == kind]):>12.3f}")
        half = own >= np.median(own)
        left = 1 - np.isin(kinds[half], ("clean", "edited")).mean()
        print(f"  {name:<26}" + "".join(cells) + f"{left:>12.1%}")
    bars = [f">= {BARS[kind]:.2f}" if kind in BARS else "" for kind in bad]
    bars.append(f"< {NOISE:.0%}")
    print(f"  {'bar':<26}" + "".join(f"{bar:>12}" for bar in bars))


def show_losses(
    arguments: argparse.Namespace,
    task: str,
    folder: Path,
    rows: list[tuple[str, str, str]],
    tests: list[Pair],
) -> None:
    """Test losses of models trained on parts of the text."""
    rng = np.random.default_rng(arguments.seed + 1)
    half = np.sort(rng.permutation(len(rows))[: len(rows) // 2])
    write_ingest(folder / "random", task, [rows[i][:2] for i in half], tests)
    select.run(
        select.Config(keep=1.0, online=True, seed=arguments.seed),
        ingest=folder / "ingest",
        tasks=(task,),
        output=folder / "online",
    )
    tokens = folder / "tokens"
    tokenize.run(ROWS, ingest=folder / "ingest", tasks=(task,), output=tokens)
    # One vocabulary for all, or the losses could not be compared.
    own = dataclasses.replace(ROWS, model=f"{tokens}/vocabulary.model")
    print(
        f"  models of {arguments.size} after {arguments.train_steps} steps, one "
        f"vocabulary, {len(tests)} clean test pairs"
    )
    cases = {
        "random half": ("random", None),
        "feature half": ("features", None),
        "combined half": ("combined", None),
        "all": ("ingest", None),
        "all, annealed to 50 %": ("online", Anneal(0.5, 0.5)),
        "all, annealed to 30 %": ("online", Anneal(0.3, 0.5)),
    }
    losses: dict[str, float] = {}
    for name, (text, anneal) in cases.items():
        if not (folder / text).is_dir():
            continue
        tokens = folder / f"tokens-{text}"
        tokenize.run(own, ingest=folder / text, tasks=(task,), output=tokens)
        output = folder / f"train-{len(losses)}"
        losses[name] = test_loss(arguments, task, tokens, output, anneal)
        gain = losses["random half"] - losses[name]
        told = "" if name == "random half" else f", {gain:+.3f} better than random"
        bar = " (bar: > 0)" if name in ("feature half", "combined half") else ""
        print(f"    {name}: {losses[name]:.3f} nats a token{told}{bar}", flush=True)


def test_loss(
    arguments: argparse.Namespace,
    task: str,
    tokens: Path,
    output: Path,
    anneal: Anneal | None,
) -> float:
    """Trains one small model; its loss on the clean test set."""
    config = train.Config(
        sizes=(arguments.size,),
        mixtures=(1.0,),
        seeds=(arguments.seed,),
        steps=arguments.train_steps,
        batch_tokens=512,
        warmup_steps=min(300, arguments.train_steps),
        anneal=anneal,
    )
    trial = Trial("selection", arguments.size, ((task, 1.0),), arguments.seed)
    train.run(config, trials=(trial,), tokens=tokens, output=output)
    with open(output / trial.id / "curve.csv", encoding="utf-8") as file:
        last = [row for row in csv.DictReader(file) if row["origin"] == "mixed"][-1]
    return float(last["loss"])


def noisy_text(
    data: Path, task: str, count: int, rng: np.random.Generator
) -> tuple[list[tuple[str, str, str]], list[Pair]]:
    """Source, target and kind of ``count`` pairs, three tenths of them noise; and
    clean pairs that are not among them."""
    clean = parallel(data / "techdocs" / task, shards.TRAIN, task)
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
    return [rows[i] for i in rng.permutation(len(rows))], clean[taken + left :]


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
    if (folder / "manifest.json").is_file():
        return
    (folder / task).mkdir(parents=True, exist_ok=True)
    for index in range(SHARDS):
        name = f"{shards.TRAIN}-{index:05d}-of-{SHARDS:05d}.jsonl.gz"
        _write(
            folder / task / name,
            np.array_split(np.arange(len(rows)), SHARDS)[index],
            rows,
        )
    name = "in_domain-00000-of-00001.jsonl.gz"
    _write(folder / task / name, np.arange(len(tests)), tests)
    counts = {task: {shards.TRAIN: len(rows)}}
    described = {"rows": len(rows), "first": rows[0]}
    manifest.seal(
        folder, verb="ingest", config=described, inputs={}, counts=counts, seconds=1.0
    )


def write_lines(folder: Path, task: str, pairs: list[Pair]) -> TextTask:
    """Trusted text as line-aligned files."""
    paths = [folder / f"trusted.{language}" for language in task.split("-")]
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    return TextTask(*map(str, paths))


def _write(path: Path, chosen: np.ndarray, pairs: list[Pair]) -> None:
    own = (pairs[i] for i in chosen.tolist())
    path.write_bytes(shards.shard_bytes({"source": s, "target": t} for s, t in own))


def scores_of(folder: Path) -> np.ndarray:
    """The scores of a task in the order of its text."""
    files = sorted(folder.glob("scores-*.npy"))
    scores = np.concatenate(list(map(np.load, files)))
    paths = shards.split_shards(folder, shards.TRAIN)
    kept = sum(1 for path in paths for _ in shards.read_shard(path))
    assert kept == scores["kept"].sum()
    return scores["score"]


def auc(good: np.ndarray, bad: np.ndarray) -> float:
    """How often a good pair has the better score than a bad one; ties count half."""
    bad = np.sort(bad)
    below = np.searchsorted(bad, good, side="left")
    not_above = np.searchsorted(bad, good, side="right")
    return float((below + not_above).mean() / 2 / len(bad))


def _find(folder: Path, stem: str) -> Path:
    for path in (folder / f"{stem}.txt", folder / f"{stem}.txt.gz"):
        if path.is_file():
            return path
    raise SystemExit(f"{folder}/{stem}.txt: not there")


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
