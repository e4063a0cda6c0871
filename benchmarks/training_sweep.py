"""What a sweep costs beside its training steps, on the smallest models.

    python benchmarks/training_sweep.py [--case CASE] [--steps 3800] [--data FOLDER]

    sweep        4 sizes x 5 mixtures: wall time against pure step time / cores
    resume       a killed trial: from an imported TensorFlow to its next steps
    checkpoints  their share of the training time at the default interval
    input        the input pipeline against what the "tiny" model consumes, one core
    padding      useful positions of packed rows, Tatoeba en-de

Each case runs in a process of its own, one after the other; run it on an idle machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
# The smallest rungs and, unless told otherwise, the quickstart's steps and batches.
SIZES = "[2k, 4k, 5k, 9k]"
MIXTURES = "[0, 0.3, 0.5, 0.7, 1]"
SWEEP = (f"train.sizes={SIZES}", f"train.mixtures={MIXTURES}", "train.stack=5")
# Width 128, feed-forward layers of 512, 2 + 2 layers, 4 heads.
TINY = "2L2L@2953k-h4"


def _one_trial(size: str) -> tuple[str, ...]:
    return f"train.sizes=[{size}]", "train.mixtures=[0.5]", "fit.single_size=true"


RESUMED = {"five trials of 2k": SWEEP, 'one trial of "tiny"': _one_trial(TINY)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--steps", type=int, default=3800, help="of each trial")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    if arguments.case:
        CASES[arguments.case](arguments)
        return
    print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    for case in CASES:
        options = ["--case", case, "--steps", str(arguments.steps)]
        options += ["--jobs", str(arguments.jobs), "--data", str(arguments.data)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        sys.stdout.flush()
        subprocess.run(
            [sys.executable, __file__, *options], env=environment, check=True
        )


def _context(folder: Path, *values: str):
    """The quickstart at other settings, with its tokens made in ``folder``."""
    from pipeline import experiment, local_runner
    from pipeline.steps import Context

    found = experiment.load(
        experiment.find(Path("quickstart")),
        [
            "ingest.synthetic.train_sentences=20000",
            "ingest.synthetic.test_sentences=400",
            "fit.held_out.sizes=[]",
            "fit.held_out.mixtures=[]",
            "train.steps_by_size={}",
            *values,
        ],
    )
    context = Context(found, Path("."), folder, jobs=1)
    local_runner.run(context, until="tokenize")
    return context


def sweep(arguments: argparse.Namespace) -> None:
    """Bar: at most 1.3 times the pure step time of all trials / cores."""
    from components import train

    with tempfile.TemporaryDirectory() as folder:
        context = _context(
            Path(folder),
            *SWEEP,
            f"train.steps={arguments.steps}",
        )
        started = time.monotonic()
        made = train.run(
            context.experiment.train,
            trials=context.experiment.trials,
            tokens=context.place("tokenize"),
            output=context.place("train"),
            jobs=arguments.jobs,
        )
        wall = time.monotonic() - started
    phases = made.counts["process_seconds_by_phase"]
    pure = phases["training"] / arguments.jobs
    print(
        f"sweep: {made.counts['trials']} trials of {arguments.steps} steps, "
        f"{arguments.jobs} jobs: {wall:.1f} s wall, {pure:.1f} s pure step time / "
        f"jobs, ratio {wall / pure:.2f} (bar 1.3)"
    )
    shown = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in phases.items())
    print(f"sweep: process seconds: {shown}")


def resume(arguments: argparse.Namespace) -> None:
    """Bar: at most 3 s beyond the start of the process."""
    for label, values in RESUMED.items():
        with tempfile.TemporaryDirectory() as folder:
            _context(Path(folder), *values)
            _until_killed(Path(folder), values, steps=100)
            step, started, opened, first, usual = _until_killed(
                Path(folder), values, steps=50
            )
        print(
            f"resume: {label}, killed with SIGKILL at step {step}: {started:.2f} s to "
            f"start Python and TensorFlow; beyond it {opened + first:.2f} s (bar 3 s): "
            f"{opened:.2f} s to open data, build models and read the checkpoint, "
            f"{first:.2f} s for the first 10 steps, of which {first - usual:.2f} s "
            "compilation"
        )


def _until_killed(
    folder: Path, values: Sequence[str], steps: int
) -> tuple[int, float, float, float, float]:
    """Trains in a process that is killed after some steps.

    Returns:
      The step it started from; seconds to start the process, from there to the
      trainer, from there to the end of the first call, and of a usual call.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_train_until_killed, args=(folder, values, theirs))
    times = [time.monotonic()]
    process.start()
    theirs.close()
    at = []
    while len(at) < 2 or at[-1] < at[1] + steps:
        step, moment = ours.recv()
        at.append(step)
        times.append(moment)
    process.kill()
    process.join()
    seconds = [after - before for before, after in zip(times, times[1:], strict=False)]
    return at[1], *seconds[:3], statistics.median(seconds[3:])


def _train_until_killed(
    folder: Path, values: Sequence[str], pipe: multiprocessing.connection.Connection
) -> None:
    from components.engines.tensorflow_start import start_tensorflow

    start_tensorflow()
    from components.train import trainer as _  # noqa: F401 - all that it imports

    def report(step: int, steps: int) -> None:
        pipe.send((step, time.monotonic()))

    report(0, 0)
    trainer = _trainer(folder, [*values, "train.checkpoint_seconds=0"], report)
    report(trainer.step, 0)
    trainer.run()


def _trainer(
    folder: Path,
    values: Sequence[str],
    report: Callable[[int, int], None] = lambda step, steps: None,
):
    """The trainer of the first group of a sweep."""
    from components.engines.tensorflow_start import start_tensorflow
    from components.train.group import form_groups

    context = _context(folder, *values)
    config, tokens = context.experiment.train, context.place("tokenize")
    start_tensorflow()
    from components.train.sweep_data import SweepData
    from components.train.trainer import GroupTrainer

    group = form_groups(config, context.experiment.trials)[0]
    return GroupTrainer(
        config,
        group,
        SweepData.load(tokens, context.experiment.tasks),
        output=folder / "train",
        progress=folder / "progress",
        report=report,
    )


def checkpoints(arguments: argparse.Namespace) -> None:
    """Bar: less than 2 % of the training time at the default interval."""
    for size in ("9k", TINY, "5535k"):
        with tempfile.TemporaryDirectory() as folder:
            trainer = _trainer(Path(folder), _one_trial(size))
            seconds = []
            for step in range(5):
                trainer.step = step + 1
                seconds.append(trainer._checkpoint())
            written = max(path.stat().st_size for path in trainer.progress.iterdir())
        cost = statistics.median(seconds)
        interval = max(trainer.config.checkpoint_seconds, 50 * cost)
        print(
            f"checkpoints: {size}: {written / 1e6:.1f} MB in {cost * 1000:.0f} ms, "
            f"every {interval:.0f} s: {cost / interval:.2%} (bar 2 %)"
        )


def input_pipeline(arguments: argparse.Namespace) -> None:
    """Bar: ten times what the "tiny" model consumes, on one core."""
    from components.engines.tensorflow_start import start_tensorflow

    start_tensorflow()
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from components.train import mixture
    from components.train.config import Config
    from components.train.model_stack import ModelStack
    from models.nmt.sizes import Shape

    rows = _random_rows(np.random.default_rng(0))
    config = Config(sizes=(), mixtures=())

    def batches(calls: int):
        return mixture.batches(
            rows,
            np.array([[0.3, 0.7]]),
            np.array([0]),
            batch_rows=32,
            steps_per_execution=10,
            start_step=0,
            stop_step=10 * calls,
            drawn=np.zeros((1, 2), np.int64),
        )

    def rate(calls: int, each) -> float:
        """Target positions a second, the first call left out."""
        elements = iter(batches(calls + 1))
        each(next(elements)[0])
        started = time.monotonic()
        for fields, _ in elements:
            each(fields)
        return calls * 10 * 32 * 32 / (time.monotonic() - started)

    program = ModelStack(config, Shape("tiny", 2, 2, 128, 4, 32, 512), 4000, [0])
    trained = [rate(3, program.train) for _ in range(3)]
    read = [rate(200, lambda fields: None) for _ in range(3)]
    ratio = statistics.median(read) / statistics.median(trained)
    print(
        f"input: {statistics.median(read) / 1e3:.0f}k target positions a second read, "
        f'{statistics.median(trained) / 1e3:.1f}k trained ("tiny", one core): '
        f"ratio {ratio:.0f} (bar 10)"
    )


def _random_rows(generator):
    import numpy as np

    from components.artifacts.token_rows import FIELDS, TokenRows, pack
    from components.train.rows import Rows

    def task(count: int):
        ids = generator.integers(3, 4000, (count, 32))
        fields = {name: ids if "ids" in name else (ids > 0) * 1 for name in FIELDS}
        return pack(fields | {"examples": generator.integers(1, 5, count)}, 4000)

    shards = task(50_000), task(20_000)
    each = (50_000, 20_000), (2.5, 2.5), (32.0, 32.0)  # rows, pairs, target tokens
    return Rows(TokenRows(shards), *map(np.array, each))


def padding(arguments: argparse.Namespace) -> None:
    """Bar: less than 8 % of the positions of packed rows are padding."""
    import numpy as np

    from components.tokenize import packing, vocabulary
    from components.tokenize.config import Config

    folder = arguments.data / "tatoeba" / "en-de"
    if not folder.is_dir():
        print(f"padding: no {folder}; left out")
        return
    text = {lang: _lines(folder, lang) for lang in ("en", "de")}
    pairs = min(map(len, text.values()))
    for size, length in ((512, 64), (2000, 64), (4000, 64), (4000, 32)):
        config = Config(
            vocabulary_size=size, source_length=length, target_length=length
        )
        model = vocabulary.Vocabulary(
            vocabulary.train(config, {k: v[:20_000] for k, v in text.items()}, ())
        )
        lengths = [model.encode(text[lang][:pairs])[1] for lang in ("en", "de")]
        plan = packing.plan(
            *lengths,
            source_length=length,
            target_length=length,
            window=config.packing_window,
        )
        kept = plan.rows >= 0
        useful = sum(int(np.asarray(one)[kept].sum()) for one in lengths)
        waste = 1 - useful / (plan.row_count * 2 * length)
        print(
            f"padding: Tatoeba en-de, {pairs} pairs, vocabulary {size}, rows of "
            f"{length} + {length}: {waste:.1%} (bar 8 %), {int((~kept).sum())} longer "
            "than a row"
        )


def _lines(folder: Path, language: str) -> list[str]:
    import gzip

    (path,) = folder.glob(f"train.{language}.txt*")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


CASES = {
    "sweep": sweep,
    "resume": resume,
    "checkpoints": checkpoints,
    "input": input_pipeline,
    "padding": padding,
}


if __name__ == "__main__":
    main()
