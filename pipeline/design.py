"""Experiment design: which trials tell most about a prediction for their cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from components.artifacts.trial import check_mixture, format_mixture
from components.fit.done_runs import DoneRuns
from models.errors import UserError, suggestion
from models.laws.design import Ranking, Subset, cheapest, rank
from models.laws.precision import Precision, precision
from models.nmt.sizes import count_parameters, get_shape
from pipeline.experiment import Experiment

# Intervals to choose from, over that of the whole sweep, and the one that is listed.
INTERVALS = (1.1, 1.3, 1.5, 2.0)
LISTED = 1.3
# The model to predict when nobody names one and none is held out, over the largest.
_BEYOND = 10.0
_NEXT = 5


@dataclasses.dataclass(frozen=True)
class Goal:
    """What the law is to predict.

    Attributes:
      n: Non-embedding parameters; null for the size that the experiment file asks
        about, or holds out, or ten times the largest.
      mixture: The mixture; when empty, all of the sweep that have every task.
      interval: Interval of the listed trials, over that of the whole sweep.
    """

    n: float | None = None
    mixture: Mapping[str, float] = dataclasses.field(default_factory=dict)
    interval: float = LISTED


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Trials that can be trained.

    Attributes:
      tasks: What the mixtures are over.
      names: Id of each trial.
      n, shares, seeds, cost: Its size, mixture, seed and cost.
      asked_n: The size to predict when the goal names none.
      planned: Whether it is a plan, a part of which may do.
    """

    tasks: tuple[str, ...]
    names: tuple[str, ...]
    n: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]
    seeds: tuple[int, ...]
    cost: tuple[float, ...]
    asked_n: float
    planned: bool = True


@dataclasses.dataclass(frozen=True)
class Choice:
    """The cheapest trials for an interval.

    Attributes:
      trials: Their ids, the most useful for its cost first; without those that have
        been trained.
      cost_share: What they cost, of the whole sweep.
      interval: 95 % interval of a newly trained model, over that of the whole sweep.
      law_interval: The same for the law's own value, without the noise of a run.
    """

    trials: tuple[str, ...]
    cost_share: float
    interval: float
    law_interval: float


@dataclasses.dataclass(frozen=True)
class Next:
    """A trial to train next.

    Attributes:
      trial: Its id.
      cost: What it costs, over what has been spent.
      half_width: Half the interval after it and those before it.
      law_half_width: The same for the law's own value.
    """

    trial: str
    cost: float
    half_width: float
    law_half_width: float


@dataclasses.dataclass(frozen=True)
class Design:
    """What part of a sweep would do, and what to train next.

    Attributes:
      target_n: Non-embedding parameters of the model that is to be predicted.
      target_mixtures: Mixtures it is to be predicted for.
      half_width: Half its 95 % interval after all trials, the mean over tasks and
        mixtures.
      noise: Seed-to-seed standard deviation that is planned with, by task.
      trials: How many there are.
      done: How many runs have been trained.
      half_width_now, law_half_width_now: Half the interval as it stands, of a newly
        trained model and of the law's own value; null before there are enough.
      choices: The cheapest trials for several intervals; empty without a plan.
      listed: Which of them was asked for.
      next: What to train next, for its cost; empty while nothing has been trained.
      most_informative: What to train next whatever it costs.
    """

    target_n: float
    target_mixtures: tuple[str, ...]
    half_width: float
    noise: Mapping[str, float]
    trials: int
    done: int
    half_width_now: float | None
    law_half_width_now: float | None
    choices: tuple[Choice, ...]
    listed: int
    next: tuple[Next, ...]
    most_informative: Next | None


def sweep_of(experiment: Experiment, flops: Mapping[str, float]) -> Sweep:
    """The trials of an experiment that its fit may see.

    Args:
      experiment: The sweep.
      flops: Cost of one trial of each size.
    """
    held_out = experiment.fit.held_out.sizes
    trials = [trial for trial in experiment.trials if trial.size not in held_out]
    vocabulary_size = experiment.tokenize.vocabulary_size
    sizes = {
        name: float(count_parameters(get_shape(name), vocabulary_size).n)
        for name in experiment.train.sizes
    }
    beyond = _BEYOND * max(sizes.values())
    asked = max((sizes[name] for name in held_out), default=beyond)
    return Sweep(
        tasks=experiment.tasks,
        names=tuple(trial.id for trial in trials),
        n=tuple(sizes[trial.size] for trial in trials),
        shares=tuple(
            tuple(trial.weight(task) for task in experiment.tasks) for trial in trials
        ),
        seeds=tuple(trial.seed for trial in trials),
        cost=tuple(flops[trial.size] for trial in trials),
        asked_n=experiment.recommend.n or asked,
    )


def sweep_around(done: DoneRuns) -> Sweep:
    """What else could be trained beside the runs of a table.

    Every size with every mixture that is not in it yet, and another seed of those
    that are. A run costs as much as its size is large: as many tokens for each.
    """
    cells = [
        (n, tuple(mix)) for n in np.unique(done.n).tolist() for mix in _mixes(done)
    ]
    names, seeds = [], []
    for n, mix in cells:
        seed = 0
        while done.find(n, mix, seed) is not None:
            seed += 1
        seeds.append(seed)
        shown = ",".join(f"{t}={w:.3g}" for t, w in zip(done.tasks, mix, strict=True))
        names.append(f"n={n:.6g} {shown}" + (f" seed={seed}" if seed else ""))
    return Sweep(
        tasks=done.tasks,
        names=tuple(names),
        n=tuple(n for n, _ in cells),
        shares=tuple(mix for _, mix in cells),
        seeds=tuple(seeds),
        cost=tuple(n for n, _ in cells),
        asked_n=_BEYOND * float(done.n.max()),
        planned=False,
    )


def _mixes(done: DoneRuns) -> list[list[float]]:
    return np.unique(done.shares.round(9), axis=0).tolist()


def find(
    sweep: Sweep, goal: Goal | None = None, done: DoneRuns | None = None
) -> Design | None:
    """Which trials tell most for their cost.

    Args:
      sweep: The trials.
      goal: What the law is to predict.
      done: Runs that have already been trained, of this sweep or beside it.

    Returns:
      The trials; ``None`` where all of them are no more than the coefficients.

    Raises:
      UserError: A goal that names an unknown task, or is no mixture.
    """
    goal = goal or Goal()
    goals = _goals(sweep, goal)
    n, shares, cost = list(sweep.n), list(sweep.shares), list(sweep.cost)
    trained: list[int] = []
    for row in range(len(done.n) if done else 0):
        assert done is not None
        place = _place(sweep, done, row)
        if place is None:  # a run beside the sweep tells something too
            place = len(n)
            n.append(float(done.n[row]))
            shares.append(tuple(done.shares[row].tolist()))
            cost.append(_cost_of(sweep, n[-1]))
        trained.append(place)
    known = precision(
        sweep.tasks, n, shares, cost,
        target_n=goal.n or sweep.asked_n,
        target_shares=goals,
        laws=done.laws if done else None,
    )  # fmt: skip
    if not known.is_enough(range(len(n))):
        return None
    return _answer(sweep, goal, goals, known, tuple(trained))


def _cost_of(sweep: Sweep, n: float) -> float:
    """What a run of this size costs, as that of the sweep's nearest size."""
    k = int(np.argmin(np.abs(np.log(np.array(sweep.n) / n))))
    return sweep.cost[k] * n / sweep.n[k]


def _place(sweep: Sweep, done: DoneRuns, row: int) -> int | None:
    """Where a trained run stands in the sweep, if anywhere."""
    if done.names[row] in sweep.names:
        return sweep.names.index(done.names[row])
    for k, (n, shares, seed) in enumerate(
        zip(sweep.n, sweep.shares, sweep.seeds, strict=True)
    ):
        if done.find(n, shares, seed) == row:
            return k
    return None


def _answer(
    sweep: Sweep,
    goal: Goal,
    goals: list[tuple[float, ...]],
    known: Precision,
    trained: tuple[int, ...],
) -> Design:
    intervals = sorted({*INTERVALS, goal.interval}) if sweep.planned else []
    found = [cheapest(known, ratio, trained) for ratio in intervals]
    left = [k for k in range(len(sweep.names)) if k not in trained]
    following = rank(known, trained, left, _NEXT) if trained else Ranking((), ())
    now = trained if known.is_enough(trained) else None
    informative = None
    if trained and left:
        after = known.outlook(trained)[1]
        informative = _next(sweep, known, trained, min(left, key=lambda k: after[k]))
    mixtures = [dict(zip(sweep.tasks, mix, strict=True)) for mix in goals]
    return Design(
        target_n=goal.n or sweep.asked_n,
        target_mixtures=tuple(format_mixture(mixture) for mixture in mixtures),
        half_width=known.half_width(range(len(known.n))),
        noise={task.name: task.noise_sd for task in known.tasks},
        trials=len(sweep.names),
        done=len(trained),
        half_width_now=None if now is None else known.half_width(now),
        law_half_width_now=None if now is None else known.half_width(now, False),
        choices=tuple(
            _named(subset, sweep, known, trained) for subset in found if subset
        ),
        listed=intervals.index(goal.interval) if intervals else 0,
        next=tuple(
            _next(sweep, known, (*trained, *following.runs[:k]), run)
            for k, run in enumerate(following.runs)
        ),
        most_informative=informative,
    )


def _next(sweep: Sweep, known: Precision, before: Sequence[int], run: int) -> Next:
    chosen = [*before, run]
    return Next(
        trial=sweep.names[run],
        cost=float(known.cost[run] / known.cost[list(before)].sum()),
        half_width=known.half_width(chosen),
        law_half_width=known.half_width(chosen, measured=False),
    )


def _named(
    subset: Subset, sweep: Sweep, known: Precision, trained: Sequence[int]
) -> Choice:
    more = [k for k in subset.runs if k not in trained]
    return Choice(
        trials=tuple(sweep.names[k] for k in more),
        cost_share=float(known.cost[more].sum() / known.cost.sum()),
        interval=subset.interval,
        law_interval=subset.law_interval,
    )


def _goals(sweep: Sweep, goal: Goal) -> list[tuple[float, ...]]:
    """The mixtures to predict."""
    if not goal.mixture:
        whole = [mix for mix in dict.fromkeys(sweep.shares) if min(mix) > 0]
        return whole or [(1.0 / len(sweep.tasks),) * len(sweep.tasks)]
    for task in goal.mixture:
        if task not in sweep.tasks:
            hint = suggestion(task, sweep.tasks)
            raise UserError(
                f"--p: {task} is not one of the tasks ({', '.join(sweep.tasks)}){hint}"
            )
    mixture = {task: goal.mixture.get(task, 0.0) for task in sweep.tasks}
    if len(goal.mixture) == 1 and len(sweep.tasks) == 2:
        (own, weight), *_ = goal.mixture.items()
        mixture = {task: weight if task == own else 1.0 - weight for task in mixture}
    check_mixture(mixture)
    return [tuple(mixture.values())]
