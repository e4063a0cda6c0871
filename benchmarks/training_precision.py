"""Final losses in bfloat16 against float32, over a small sweep on real text.

    python benchmarks/training_precision.py [--steps 1000] [--sizes 37k 57k 74k 167k]

Every size and mixture of `configs/parallel_text.yaml` is trained in float32, in mixed
bfloat16, in float32 again but compiled by XLA, whose sums round differently in the
seventh digit, and with another seed. Draws depend on the seed alone, so the first three
see the same batches. Training amplifies any difference: what bfloat16 changes is to be
read beside what mere rounding changes. Bar: .005 nats.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

Final = dict[tuple[str, str, float, int], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--sizes", nargs="+", default=["37k", "57k", "74k", "167k"])
    parser.add_argument("--mixtures", nargs="+", type=float, default=[0.3, 0.5, 0.7])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {arguments.steps} steps"
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        full, seconds = final_losses(place, arguments, "train.seeds=[0, 1]")
        half, half_seconds = final_losses(
            place, arguments, "train.precision=mixed_bfloat16"
        )
        rounded, _ = final_losses(place, arguments, "train.jit=on")
    differences: dict[str, list[float]] = {
        "bfloat16": [],
        "other rounding": [],
        "other seed": [],
    }
    for (size, task, weight, seed), loss in sorted(half.items()):
        key = size, task, weight
        first = full[*key, seed]
        found = loss - first, rounded[*key, seed] - first, full[*key, 1] - first
        for values, difference in zip(differences.values(), found, strict=True):
            values.append(difference)
        shown = ", ".join(
            f"{name} {difference:+.4f}"
            for name, difference in zip(differences, found, strict=True)
        )
        print(f"  {size:>6} {task} p = {weight:.2f}: float32 {first:.4f}, {shown}")
    for name, values in differences.items():
        print(f"{name:15} - float32: {summary(values)}")
    print(
        f"seconds of training a trial: float32 {seconds:.1f}, bfloat16 "
        f"{half_seconds:.1f}"
    )


def final_losses(
    folder: Path, arguments: argparse.Namespace, *values: str
) -> tuple[Final, float]:
    """Trains and evaluates one sweep.

    Returns:
      In-domain losses by size, task, weight and seed, nats; process seconds that a
      trial took to train.
    """
    from components.artifacts import manifest, metrics_table
    from pipeline import experiment, local_runner
    from pipeline.steps import Context

    place = experiment.find(Path("parallel_text"))
    found = experiment.load(
        place,
        [
            f"train.sizes=[{', '.join(arguments.sizes)}]",
            f"train.mixtures={arguments.mixtures}",
            f"train.steps={arguments.steps}",
            "train.steps_by_size={}",
            "fit.held_out.sizes=[]",
            "fit.held_out.mixtures=[]",
            *values,
        ],
    )
    context = Context(found, place.parent, folder, jobs=arguments.jobs)
    local_runner.run(context, until="evaluate")
    rows = metrics_table.load(context.place("evaluate") / "metrics.csv")
    trained = manifest.load(context.place("train")).counts
    seconds = trained["process_seconds_by_phase"]["training"] / trained["trials"]
    final = {
        (row.size, row.task, row.p, row.seed): row.loss
        for row in rows
        if row.loss_kind == "final" and row.test_set == "in_domain" and row.p > 0
    }
    return final, seconds


def summary(differences: Sequence[float]) -> str:
    """Median and largest size, and the mean, of differences."""
    sizes = [abs(difference) for difference in differences]
    return (
        f"median {statistics.median(sizes):.4f}, largest {max(sizes):.4f}, "
        f"mean {statistics.fmean(differences):+.4f} nats"
    )


if __name__ == "__main__":
    main()
