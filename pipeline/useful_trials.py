"""Which trials of a planned sweep the law needs most, for what they cost."""

from __future__ import annotations

import dataclasses

from models.laws.design import design
from models.nmt.sizes import count_parameters, get_shape
from pipeline.experiment import Experiment

# An interval this much wider than that of the whole sweep still serves to decide.
RATIO = 1.3
# The model to predict when no size is held out, over the largest trained one.
_BEYOND = 10.0


@dataclasses.dataclass(frozen=True)
class UsefulTrials:
    """Trials in the order in which they are worth their cost.

    Attributes:
      target_n: Non-embedding parameters of the model that is to be predicted.
      order: Ids of the trials that the fit may see, the most useful one first.
      cost_share: Cost of the first k over that of all, each in (0, 1].
      widths: Interval after the first k over that after all.
      enough: How many of them keep the interval within `RATIO`.
    """

    target_n: float
    order: tuple[str, ...]
    cost_share: tuple[float, ...]
    widths: tuple[float, ...]
    enough: int


def rank(experiment: Experiment, flops: dict[str, float]) -> UsefulTrials | None:
    """Ranks the trials of a sweep over two tasks by what they tell for their cost.

    Args:
      experiment: The sweep.
      flops: Cost of one trial of each size.

    Returns:
      The ranking; ``None`` unless there are two tasks and two trials to choose from.
    """
    held_out = experiment.fit.held_out.sizes
    trials = [trial for trial in experiment.trials if trial.size not in held_out]
    if len(experiment.tasks) != 2 or len(trials) < 2:
        return None
    sizes = {name: _parameters(experiment, name) for name in experiment.train.sizes}
    first = experiment.tasks[0]
    weights = sorted({trial.weight(first) for trial in experiment.trials})
    inner = [weight for weight in weights if 0 < weight < 1] or [0.5]
    target = max(
        (sizes[name] for name in held_out), default=_BEYOND * max(sizes.values())
    )
    found = design(
        [sizes[trial.size] for trial in trials],
        [trial.weight(first) for trial in trials],
        [flops[trial.size] for trial in trials],
        target_n=target,
        target_p=inner,
    )
    return UsefulTrials(
        target_n=target,
        order=tuple(trials[index].id for index in found.order),
        cost_share=found.cost_share,
        widths=found.widths,
        enough=found.enough(RATIO),
    )


def text(useful: UsefulTrials) -> str:
    """The shortest useful list, for a person."""
    k = useful.enough
    lines = [
        f"most useful: {k} of {len(useful.order)} trials, "
        f"{useful.cost_share[k - 1]:.0%} of the FLOPs, predict n = "
        f"{useful.target_n:.3g} with an interval {useful.widths[k - 1]:.2g}x that of "
        "all of them:"
    ]
    lines += [f"  {name}" for name in useful.order[:k]]
    return "\n".join(lines) + "\n"


def _parameters(experiment: Experiment, size: str) -> int:
    vocabulary_size = experiment.tokenize.vocabulary_size
    return count_parameters(get_shape(size), vocabulary_size).n
