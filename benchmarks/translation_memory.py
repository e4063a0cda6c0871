"""Memory and speed of `polyscale translate` by number of lines, and that none is lost.

    python benchmarks/translation_memory.py [--lines 1000 10000 50000] [--dirty 10000]

Trains a small model on invented languages (or takes --checkpoint and --to), pipes lines
through the command, and prints the most memory that the process ever held, the time to
the first line, and lines a second. Bar: what 50,000 lines take is within 10 % of what
10,000 take.

The last run is of dirty lines: empty ones, one of a megabyte, emoji, U+2028, NUL, CRLF,
bytes that are not UTF-8. Each text comes many times in random order, so that a line
that is lost, doubled or out of place shows: a text must have the same translation
wherever it stands.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
WORDS = "the small house river goes by a mountain old bird sees green".split()
GROWTH = 1.1
_ODD = [
    b"",
    b"  \t ",
    "😀 bird sees 😀".encode(),
    "small\u2028house".encode(),
    b"old\x00bird",
    b"river goes by\r",
    b"green \xff\xfe house",
    "\ufeffa mountain".encode(),
]


def trained(folder: Path) -> Path:
    """A trial of a small sweep, trained here."""
    from components.engines.tensorflow_start import start_tensorflow

    start_tensorflow()
    sys.path.insert(0, str(ROOT))
    from tests.components.evaluate import small_sweep

    small_sweep.make(folder)
    return folder / "train" / small_sweep.TRIALS[0].id


def sentences(rng: random.Random, count: int) -> list[bytes]:
    """Lines of 1 to 16 words."""
    lengths = [min(1 + int(rng.expovariate(0.2)), 16) for _ in range(count)]
    return [" ".join(rng.choices(WORDS, k=length)).encode() for length in lengths]


def dirty_lines(rng: random.Random, count: int) -> list[bytes]:
    """Few texts, each many times, and one very long line."""
    texts = [*sentences(rng, 200), *_ODD]
    lines = rng.choices(texts, k=count - 1)
    longest = b" ".join(rng.choices([w.encode() for w in WORDS], k=190_000))
    lines.insert(rng.randrange(count), longest)
    return lines


def translate(
    checkpoint: Path, to: str, lines: list[bytes]
) -> tuple[list[bytes], float, float, float]:
    """Lines through the command.

    Returns:
      What came out, seconds to the first line and to the last, and the most memory
      that the process held, in MiB.
    """
    command = [sys.executable, "-m", "pipeline", "translate"]
    command += ["--checkpoint", str(checkpoint), "--to", to]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors,
        )  # fmt: skip
        content = b"\n".join(lines)  # no line feed at the end
        feeding = threading.Thread(target=_feed, args=(process.stdin, content))
        feeding.start()
        found = [process.stdout.readline()]
        first = time.perf_counter() - started
        found += process.stdout.readlines()
        feeding.join()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            errors.seek(0)
            raise RuntimeError(errors.read().decode(errors="replace")[-2000:])
    last = time.perf_counter() - started
    return found, first, last, usage.ru_maxrss / 1024


def _feed(stream: BinaryIO, content: bytes) -> None:
    with stream:
        stream.write(content)


def check(lines: list[bytes], found: list[bytes]) -> None:
    """Raises unless each line has its own translation."""
    if len(found) != len(lines) or not all(line.endswith(b"\n") for line in found):
        raise RuntimeError(f"{len(lines)} lines in, {len(found)} out")
    answers: dict[bytes, set[bytes]] = {}
    for line, answer in zip(lines, found, strict=True):
        if bool(line.strip()) < bool(answer.strip()):
            raise RuntimeError(f"an empty line became {answer!r}")
        answers.setdefault(line, set()).add(answer)
    differing = sum(len(own) > 1 for own in answers.values())
    if differing > len(answers) // 100:  # rounding may decide between equals
        raise RuntimeError(f"{differing} texts have several translations")
    if len(set.union(*answers.values())) < len(answers) // 2:
        raise RuntimeError("most translations are the same: order cannot be told")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, nargs="*", default=[1000, 10_000, 50_000])
    parser.add_argument("--dirty", type=int, default=10_000)
    parser.add_argument("--checkpoint", type=Path, default=None)
    parser.add_argument("--to", default="de")
    arguments = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = arguments.checkpoint or trained(Path(folder))
        print("lines     first line     all  lines/s  most memory")
        held = {}
        runs = [(str(count), sentences(rng, count)) for count in arguments.lines]
        if arguments.dirty:
            runs.append(("dirty", dirty_lines(rng, arguments.dirty)))
        for name, lines in runs:
            found, first, last, memory = translate(checkpoint, arguments.to, lines)
            check(lines, found)
            held[name] = memory
            print(
                f"{name:<8} {first:>10.1f} s {last:>5.1f} s {len(lines) / last:>8.0f} "
                f"{memory:>8.0f} MiB",
                flush=True,
            )
    if {"10000", "50000"} <= set(held):
        growth = held["50000"] / held["10000"]
        print(f"50,000 lines take {growth:.2f} of what 10,000 take (bar: {GROWTH})")


if __name__ == "__main__":
    main()
