"""Which runs to train: the cheapest that pin a prediction, and the next one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from models.errors import UserError
from models.laws.precision import Precision
from models.laws.solver import Array

# A curve through three sizes cannot show that its form is wrong.
_SIZES = 4
_PAIRS = 24  # so many of the dearest runs are also tried in pairs


@dataclasses.dataclass(frozen=True)
class Subset:
    """Runs that are enough for an interval.

    Attributes:
      runs: Their indices, the most useful for its cost first.
      cost_share: What they cost, of the cost of all.
      interval: Interval of a newly trained model, over that with all runs.
      law_interval: The same for the law's own value, without the noise of a run.
    """

    runs: tuple[int, ...]
    cost_share: float
    interval: float
    law_interval: float


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Runs in the order in which they are worth their cost.

    Attributes:
      runs: Their indices.
      half_widths: Half an interval of a newly trained model after each.
    """

    runs: tuple[int, ...]
    half_widths: tuple[float, ...]


def cheapest(
    precision: Precision, ratio: float, done: Sequence[int] = ()
) -> Subset | None:
    """The cheapest runs whose interval is at most ``ratio`` times that of all.

    Runs are added by what they tell for their cost until they are enough. Then one or
    two at a time are taken out and replaced by what is cheaper, until no exchange
    saves anything.

    Args:
      precision: The candidates.
      ratio: The interval, over that with all candidates; 1 or more.
      done: Candidates that have already been trained; they are part of any subset.

    Returns:
      The runs; None where even all of them leave no degree of freedom.

    Raises:
      UserError: A ratio below 1.
    """
    if not ratio >= 1:
        raise UserError(f"interval {ratio:g}: expected 1 or more, times that of all")
    everything = list(range(len(precision.n)))
    if not precision.tasks or not precision.is_enough(everything):
        return None
    search = _Search(precision, ratio * precision.half_width(everything), tuple(done))
    chosen = search.pruned(search.completed(done, set(), np.inf) or everything)
    better: list[int] | None = chosen
    while better is not None:
        chosen = better
        better = search.exchanged(chosen)
    first = rank(precision, done, among=chosen)
    whole = [precision.half_width(everything, measured) for measured in (True, False)]
    own = [precision.half_width(chosen, measured) for measured in (True, False)]
    return Subset(
        runs=(*done, *first.runs),
        cost_share=float(precision.cost[chosen].sum() / precision.cost.sum()),
        interval=own[0] / whole[0],
        law_interval=own[1] / whole[1],
    )


def rank(
    precision: Precision,
    done: Sequence[int] = (),
    among: Iterable[int] | None = None,
    count: int | None = None,
) -> Ranking:
    """Orders runs by what each tells for its cost, given those before it.

    Args:
      precision: The candidates.
      done: Candidates that have already been trained.
      among: Those to order; all that are not done when omitted.
      count: How many to name at most.
    """
    everything = range(len(precision.n)) if among is None else among
    left = sorted(set(everything) - set(done))
    chosen, widths = list(done), []
    while left and (count is None or len(widths) < count):
        before, after = precision.outlook(chosen)
        best = _most_useful(precision, before, after, left)
        chosen.append(best)
        left.remove(best)
        widths.append(float(after[best]))
    return Ranking(tuple(chosen[len(done) :]), tuple(widths))


def _most_useful(
    precision: Precision, before: float, after: Array, among: list[int]
) -> int:
    """The run with the largest relative fall of the interval for its cost."""
    worth = np.log(before / after[among]) / precision.cost[among]
    return among[int(np.argmax(worth))]


@dataclasses.dataclass(frozen=True, eq=False)
class _Search:
    """The search for the cheapest runs within a limit.

    Attributes:
      precision: The candidates.
      limit: Largest admissible half width.
      done: Runs that stay.
    """

    precision: Precision
    limit: float
    done: tuple[int, ...]

    def suffices(self, chosen: Sequence[int]) -> bool:
        """Whether these runs are enough."""
        return self._is_sound(chosen) and self._is_narrow(
            self.precision.half_width(chosen)
        )

    def _is_narrow(self, half_width: float) -> bool:
        return half_width <= self.limit * (1 + 1e-12)

    def _is_sound(self, chosen: Sequence[int]) -> bool:
        """Whether there are spare runs, and sizes that can show a misfit."""
        sizes = self.precision.n.tolist()
        known = {sizes[k] for k in chosen}
        return self.precision.is_enough(chosen) and (
            len(known) >= _SIZES or len(known) == len(set(sizes))
        )

    def price(self, chosen: Sequence[int]) -> float:
        """What these runs cost."""
        return float(self.precision.cost[list(chosen)].sum())

    def completed(
        self, chosen: Sequence[int], without: set[int], below: float
    ) -> list[int] | None:
        """Adds runs until they suffice; None unless for less than ``below``."""
        chosen, cost = list(chosen), self.precision.cost
        while True:
            before, after = self.precision.outlook(chosen)
            sound = self._is_sound(chosen)
            if sound and self._is_narrow(before):
                return chosen
            room = below - self.price(chosen)
            out = without.union(chosen)
            left = [k for k in range(len(cost)) if k not in out and cost[k] < room]
            if not left:
                return None
            last = [k for k in left if self._is_narrow(after[k])]
            if not sound:
                last = [k for k in last if self._is_sound([*chosen, k])]
            if last:
                chosen.append(min(last, key=lambda k: cost[k]))
            elif self._is_narrow(before):
                chosen.append(min(left, key=lambda k: self._novelty(chosen, k)))
            else:
                chosen.append(_most_useful(self.precision, before, after, left))

    def _novelty(self, chosen: list[int], k: int) -> tuple[bool, float]:
        """A new size first, then what is cheap."""
        known = self.precision.n[k] in self.precision.n[chosen]
        return bool(known), float(self.precision.cost[k])

    def pruned(self, chosen: list[int]) -> list[int]:
        """Without the runs that are not needed, the dearest first."""
        for k in self._dearest(chosen):
            rest = [other for other in chosen if other != k]
            if self.suffices(rest):
                chosen = rest
        return chosen

    def exchanged(self, chosen: list[int]) -> list[int] | None:
        """A cheaper set with one or two runs replaced; None where there is none."""
        now = self.price(chosen) * (1 - 1e-9)
        for out in self._removals(chosen):
            rest = [k for k in chosen if k not in out]
            found = self.completed(rest, set(out), now)
            if found is not None:
                return self.pruned(found)
        return None

    def _removals(self, chosen: list[int]) -> Iterator[tuple[int, ...]]:
        dearest = self._dearest(chosen)
        yield from ((k,) for k in dearest)
        yield from itertools.combinations(dearest[:_PAIRS], 2)

    def _dearest(self, chosen: list[int]) -> list[int]:
        free = [k for k in chosen if k not in self.done]
        return sorted(free, key=lambda k: -self.precision.cost[k])
