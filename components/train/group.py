"""A group: trials of one size that train side by side as one program."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence

from components.artifacts.trial import Trial
from components.train.config import Config


@dataclasses.dataclass(frozen=True)
class Group:
    """Trials of one size, at most ``Config.stack`` of them."""

    size: str
    trials: tuple[Trial, ...]

    @property
    def id(self) -> str:
        """A name for its work in progress: the same trials, the same name."""
        text = json.dumps([trial.id for trial in self.trials])
        return f"{self.size}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def form_groups(config: Config, trials: Iterable[Trial]) -> tuple[Group, ...]:
    """Splits trials into groups, in an order that depends on the trials alone.

    The trials of a size are spread evenly: 6 trials with a stack of 4 make two
    groups of 3, so that groups of one size take the same time.
    """
    by_size: dict[str, list[Trial]] = {}
    for trial in trials:
        by_size.setdefault(trial.size, []).append(trial)
    groups = []
    for size, members in by_size.items():
        parts = -(-len(members) // config.stack)
        bounds = [len(members) * part // parts for part in range(parts + 1)]
        groups += [
            Group(size, tuple(members[first:last]))
            for first, last in zip(bounds, bounds[1:], strict=False)
        ]
    return tuple(groups)


def resumed_groups(
    config: Config, trials: Sequence[Trial], begun: Sequence[Sequence[str]]
) -> tuple[Group, ...]:
    """Groups of the trials still to train, continuing those already begun.

    Args:
      config: How to train.
      trials: The trials that have no result yet.
      begun: Trial ids of each group that has a checkpoint in progress.
    """
    by_id = {trial.id: trial for trial in trials}
    groups = []
    for ids in begun:
        if all(name in by_id for name in ids):
            members = tuple(by_id.pop(name) for name in ids)
            groups.append(Group(members[0].size, members))
    return (*groups, *form_groups(config, by_id.values()))
