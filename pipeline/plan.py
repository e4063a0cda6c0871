"""What a sweep will cost, before it runs: exact sizes, trials, tokens, FLOPs, time."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from components.duration import duration
from models.errors import UserError
from models.nmt.sizes import ParameterCount, count_parameters, get_shape
from pipeline import design, design_text
from pipeline.design import Design, Goal
from pipeline.experiment import Experiment

if TYPE_CHECKING:
    from components.fit.done_runs import DoneRuns

# One core of a laptop multiplies at about this speed once matrices are large; with
# narrow ones it is bound by overhead and memory, and reaches half of it at this width.
CORE_GFLOPS = 80.0
HALF_SPEED_WIDTH = 100
# Tracing and compiling the programs of the trials that train side by side.
COMPILE_SECONDS = 5.0

_COLUMNS = ("name", "n", "n_enc", "n_dec", "n_embedding", "total")


@dataclasses.dataclass(frozen=True)
class SizePlan:
    """All trials of one size.

    Attributes:
      name: Name of the size.
      parameters: Its exact parameter counts.
      trials: Trials of this size: mixtures x seeds.
      steps: Training steps of each.
      tokens: Target tokens of each, ``steps * batch_tokens``.
      flops: Training FLOPs of each.
      seconds: Estimated time of each, when one job trains one at a time.
    """

    name: str
    parameters: ParameterCount
    trials: int
    steps: int
    tokens: int
    flops: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """A sweep.

    Attributes:
      experiment: What is planned.
      sizes: The sizes, in the file's order.
      jobs: Trials that run at the same time.
      gflops: Sustained training speed of one of those jobs, 1e9 FLOP/s; ``None``
        for one core of a laptop, whose speed depends on the width of the model.
    """

    experiment: Experiment
    sizes: tuple[SizePlan, ...]
    jobs: int
    gflops: float | None

    @property
    def trials(self) -> int:
        """Trials of the sweep."""
        return sum(size.trials for size in self.sizes)

    @property
    def tokens(self) -> int:
        """Target tokens of all trials."""
        return sum(size.trials * size.tokens for size in self.sizes)

    @property
    def flops(self) -> float:
        """Training FLOPs of all trials."""
        return sum(size.trials * size.flops for size in self.sizes)

    @property
    def seconds(self) -> float:
        """Estimated training time: all work, evenly over the jobs."""
        stack = self.experiment.train.stack
        groups = sum(math.ceil(size.trials / stack) for size in self.sizes)
        work = sum(size.trials * size.seconds for size in self.sizes)
        return (work + groups * COMPILE_SECONDS) / self.jobs


def design_of(
    plan: Plan, goal: Goal | None = None, done: DoneRuns | None = None
) -> Design | None:
    """Which trials the law needs most for what they cost.

    Args:
      plan: The sweep.
      goal: What the law is to predict.
      done: Runs that have already been trained.
    """
    flops = {size.name: size.flops for size in plan.sizes}
    sweep = design.sweep_of(plan.experiment, flops)
    return design.find(sweep, goal, done)


def make(experiment: Experiment, *, jobs: int = 1, gflops: float | None = None) -> Plan:
    """Plans the training of an experiment.

    Args:
      experiment: The sweep.
      jobs: Trials that run at the same time.
      gflops: Sustained training speed of one of them, 1e9 FLOP/s; ``None`` for what
        one core of a laptop reaches.

    Raises:
      UserError: A speed that is not positive.
    """
    if gflops is not None and not 0 < gflops < math.inf:
        raise UserError(f"--gflops {gflops:g}: expected a positive number")
    names = experiment.train.sizes
    sizes = tuple(_plan_size(experiment, name, gflops) for name in names)
    return Plan(experiment=experiment, sizes=sizes, jobs=jobs, gflops=gflops)


def training_flops(parameters: ParameterCount, softmax: int, tokens: int) -> float:
    """Training FLOPs: 6 a parameter and token, forward and backward.

    Args:
      parameters: Counts of the model.
      softmax: Parameters of the softmax table, vocabulary x d.
      tokens: Target tokens; as many source tokens are assumed. The input table is
        only looked up in, so it costs nothing.
    """
    return 6.0 * (parameters.n + softmax) * tokens


def core_gflops(d_model: int) -> float:
    """Training speed of one core of a laptop on a model of this width."""
    return CORE_GFLOPS * d_model / (d_model + HALF_SPEED_WIDTH)


def record(plan: Plan, found: Design | None) -> dict[str, Any]:
    """The plan as JSON values, with what `design_of` found."""
    return {
        "name": plan.experiment.name,
        "cohort": plan.experiment.cohort,
        "tasks": list(plan.experiment.tasks),
        "vocabulary_size": plan.experiment.tokenize.vocabulary_size,
        "sizes": [_size_record(size) for size in plan.sizes],
        "trials": [trial.id for trial in plan.experiment.trials],
        "tokens": plan.tokens,
        "flops": plan.flops,
        "jobs": plan.jobs,
        "gflops": plan.gflops,
        "seconds": plan.seconds,
        "design": None if found is None else dataclasses.asdict(found),
    }


def text(plan: Plan, found: Design | None) -> str:
    """The plan for a person to read, with what `design_of` found."""
    rows = [_size_record(size) for size in plan.sizes]
    cells = [[*_COLUMNS, "trials", "steps", "tokens", "FLOPs", "time"]]
    for row in rows:
        counts = [f"{row[name]:,}" for name in _COLUMNS[1:]]
        cells.append(
            [
                row["name"],
                *counts,
                str(row["trials"]),
                f"{row['steps']:,}",
                f"{row['tokens']:.3g}",
                f"{row['flops']:.3g}",
                duration(row["seconds"]),
            ]
        )
    experiment = plan.experiment
    train = experiment.train
    return (
        f"{experiment.name}: {len(train.sizes)} sizes x {len(train.mixtures)} mixtures "
        f"x {len(train.seeds)} seeds = {plan.trials} trials of {experiment.cohort} "
        f"({', '.join(experiment.tasks)})\n\n"
        f"{_table(cells)}\n"
        "tokens, FLOPs and time: of one trial; n counts no embedding table\n\n"
        f"all trials: {plan.tokens:.3g} target tokens, {plan.flops:.3g} FLOPs, about "
        f"{duration(plan.seconds)} of training with {plan.jobs} at a time at "
        f"{_speed(plan)} (--jobs, --gflops)\n"
    ) + ("" if found is None else f"\n{design_text.text(found)}")


def _speed(plan: Plan) -> str:
    if plan.gflops is None:
        return "the speed of a laptop's cores"
    return f"{plan.gflops:g} GFLOP/s each"


def _plan_size(experiment: Experiment, name: str, gflops: float | None) -> SizePlan:
    train = experiment.train
    vocabulary_size = experiment.tokenize.vocabulary_size
    shape = get_shape(name)
    parameters = count_parameters(shape, vocabulary_size)
    steps = train.steps_of(name)
    tokens = steps * train.batch_tokens
    softmax = vocabulary_size * shape.d_model
    flops = training_flops(parameters, softmax, tokens)
    speed = core_gflops(shape.d_model) if gflops is None else gflops
    return SizePlan(
        name=name,
        parameters=parameters,
        trials=len(train.mixtures) * len(train.seeds),
        steps=steps,
        tokens=tokens,
        flops=flops,
        seconds=flops / (speed * 1e9),
    )


def _size_record(size: SizePlan) -> dict[str, Any]:
    counts = {name: getattr(size.parameters, name) for name in _COLUMNS[1:]}
    costs = ("trials", "steps", "tokens", "flops", "seconds")
    return {"name": size.name, **counts, **{c: getattr(size, c) for c in costs}}


def _table(cells: list[list[str]]) -> str:
    """Right-aligned columns, the first one left-aligned, two spaces between."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([first, *rest]))
    return "\n".join(lines) + "\n"
