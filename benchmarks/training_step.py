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
from datetime import date
from pathlib import Path

from training_candidates import CANDIDATES, LENGTH, PEAK, SHAPES

ROOT = Path(__file__).resolve().parent.parent
TURN_SECONDS = 1.5


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


if __name__ == "__main__":
    main()
