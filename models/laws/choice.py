"""Which law answers a question: the back-test's choice, wherever it can."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from models.errors import UserError
from models.laws.approximate import ApproximateLaw
from models.laws.backtest import Backtest
from models.laws.bivariate import BivariateLaw
from models.laws.data_law import DataLaw
from models.laws.law import Law
from models.laws.power import IndividualLaw, JointLaw, SharedLaw
from models.laws.query import Query

KINDS: dict[str, type[Law]] = {
    law.kind: law
    for law in (
        ApproximateLaw,
        DataLaw,
        JointLaw,
        SharedLaw,
        IndividualLaw,
        BivariateLaw,
    )
}
_NAMED = 8  # groups that a message lists


@dataclasses.dataclass(frozen=True, eq=False)
class TradeOff:
    """The laws that say what a mixture gives each of its tasks.

    Attributes:
      laws: Laws of any mixture, one for each trained task, all of one kind.
      backtest: What the back-test thinks of them.
      group: The group of runs they are of; empty without any.
    """

    laws: tuple[Law, ...]
    backtest: str
    group: str

    @property
    def test_set(self) -> str:
        """Whose losses they predict."""
        return self.laws[0].test_set

    @property
    def law(self) -> str:
        """Which laws these are, in words."""
        forms = dict.fromkeys(law.form for law in self.laws)
        return f"{self.laws[0].kind} law ({'; '.join(forms)})"


@dataclasses.dataclass(frozen=True, eq=False)
class LawSet:
    """Fitted laws, and what their back-tests say of each kind.

    Attributes:
      laws: The laws of every task, test set and group of runs.
      backtests: Test set -> the back-test of its laws, where there was enough for one.
    """

    laws: tuple[Law, ...]
    backtests: Mapping[str, Backtest] = dataclasses.field(default_factory=dict)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The trained tasks."""
        return tuple(dict.fromkeys(name for law in self.laws for name in law.tasks))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of runs that the laws keep apart; ``("",)`` without any."""
        return tuple(dict.fromkeys(g for law in self.laws for g in law.groups))

    def group_named(self, by: Mapping[str, str]) -> str:
        """The group with these values, as a query names it.

        Args:
          by: Column -> value; empty where there is only one group.

        Raises:
          UserError: No group has these values, or several have.
        """
        return group_named(self.groups, by)

    def candidates(self, task: str, test_set: str) -> list[Law]:
        """The laws of a task and test set, the one to believe first."""
        laws = [
            law for law in self.laws if (law.task, law.test_set) == (task, test_set)
        ]
        errors = self.backtests[test_set].errors if test_set in self.backtests else {}
        chosen = self.backtests[test_set].chosen if errors else None
        order = list(KINDS)

        def rank(law: Law) -> tuple[bool, float, int]:
            error = errors.get(law.kind, float("inf"))
            return law.kind != chosen, error, order.index(law.kind)

        return sorted(laws, key=rank)

    def answering(self, task: str, test_set: str, query: Query) -> Law:
        """The first law to believe that covers the question.

        Raises:
          UserError: None does.
        """
        refused = UserError(f"no law of {task} on {test_set}")
        if query.tokens is not None:
            refused = UserError(
                f"no law of {task} on {test_set} knows amounts of data; fit a table "
                "with the columns step and tokens_seen"
            )
        general = False
        for law in self.candidates(task, test_set):
            if query.tokens is not None and not law.knows_tokens:
                continue
            try:
                law.predict(query)
            except UserError as error:
                # The most general law says best what is wrong with the question.
                refused = refused if general else error
                general = general or law.any_mixture
                continue
            return law
        raise refused

    def trade_off(self, test_set: str | None = None, group: str = "") -> TradeOff:
        """The laws that say what any mixture gives every trained task.

        Args:
          test_set: Whose laws; ``in_domain``, or else the only one, when omitted.
          group: The group of runs.

        Raises:
          UserError: No such test set, a trained task without an approximate law, or
            one with a coefficient that the runs do not determine.
        """
        name = self._test_set(test_set)
        tasks = self._trained(name)
        laws = self._general_laws(tasks, name, group)
        missing = [task for task in tasks if task not in laws]
        if missing:
            raise UserError(
                f"no approximate law of {', '.join(missing)} on {name}, which a "
                f"mixture of {', '.join(tasks)} needs; fit with --law "
                "approximate, on runs of more mixtures and sizes"
            )
        for task in tasks:
            unknown = laws[task].undetermined
            if unknown:
                raise UserError(
                    f"{laws[task].name} on {name}: the runs do not determine "
                    f"{', '.join(unknown)}, so they do not say which mixture is best; "
                    "train other mixtures"
                )
        chosen = tuple(laws[task] for task in tasks)
        return TradeOff(chosen, self.opinion(chosen[0]), group)

    def _general_laws(
        self, tasks: Sequence[str], test_set: str, group: str
    ) -> dict[str, Law]:
        """Task -> its law of any mixture, all of the kind to believe first."""
        known: dict[str, dict[str, Law]] = {}
        for task in tasks:
            for law in self.candidates(task, test_set):
                if law.any_mixture and group in law.groups:
                    known.setdefault(law.kind, {}).setdefault(task, law)
        return max(known.values(), key=len, default={})

    def _test_set(self, wanted: str | None) -> str:
        names = list(dict.fromkeys(law.test_set for law in self.laws))
        if wanted is not None and wanted not in names:
            raise UserError(
                f"no law of test set {wanted}; these laws have {', '.join(names)}"
            )
        if wanted is None and len(names) > 1 and "in_domain" not in names:
            raise UserError(
                f"these laws are of {len(names)} test sets ({', '.join(names)}); name "
                "one with --test-set"
            )
        return wanted or ("in_domain" if "in_domain" in names else names[0])

    def _trained(self, test_set: str) -> tuple[str, ...]:
        """The trained tasks of a test set, of which a mixture is made."""
        laws = [law for law in self.laws if law.test_set == test_set]
        found = tuple(dict.fromkeys(name for law in laws for name in law.tasks))
        if len(found) < 2:
            raise UserError(
                "a trade-off needs laws of two or more trained tasks; found "
                f"{', '.join(found) or 'none'} on {test_set}"
            )
        return found

    def opinion(self, law: Law) -> str:
        """What the back-test thinks of a law, a sentence without a full stop."""
        backtest = self.backtests.get(law.test_set)
        if backtest is None:
            return "not back-tested: too few sizes to leave one out"
        errors, best = backtest.errors, backtest.chosen
        if law.kind == best:
            return f"the back-test's choice, RMSE {errors[best]:.4f}"
        own = errors.get(law.kind)
        against = "it could not judge this law" if own is None else f"here {own:.4f}"
        return (
            f"the back-test prefers the {best} law (RMSE {errors[best]:.4f}, "
            f"{against}), which cannot answer this"
        )


def group_named(groups: Sequence[str], by: Mapping[str, str]) -> str:
    """The one of several groups of runs that has these values.

    Args:
      groups: Groups, as ``arch=B,data=10``.
      by: Column -> value; empty where there is only one group.

    Raises:
      UserError: No group has these values, or several have.
    """
    found = [group for group in groups if _matches(parse_group(group), by)]
    if len(found) == 1:
        return found[0]
    shown = "; ".join(groups[:_NAMED]) + ("; .." if len(groups) > _NAMED else "")
    asked = ",".join(f"{name}={value}" for name, value in by.items())
    if not found:
        known = shown or "none: the fit kept no runs apart"
        raise UserError(f"--by {asked}: no such group; there is {known}")
    raise UserError(
        f"there are {len(found)} groups of runs"
        f"{f' with {asked}' if asked else ''} ({shown}); name one, as --by "
        f"{found[0]}"
    )


def parse_group(group: str) -> dict[str, str]:
    """``arch=B,data=10`` -> column -> value."""
    pairs = (part.partition("=") for part in group.split(",") if part)
    return {name: value for name, _, value in pairs}


def _matches(group: Mapping[str, str], by: Mapping[str, str]) -> bool:
    return all(_same(group.get(name), value) for name, value in by.items())


def _same(known: str | None, asked: str) -> bool:
    """Whether two cells are equal, as text or as numbers."""
    if known is None or known == asked:
        return known is not None
    try:
        return float(known) == float(asked)
    except ValueError:
        return False


def range_notes(laws: Sequence[Law], n: float) -> list[str]:
    """Says when a size lies outside the fitted runs of some laws."""
    low = min(law.fitted_range["n"][0] for law in laws)
    high = max(law.fitted_range["n"][1] for law in laws)
    if low == high and abs(n / high - 1) > 1e-6:
        return [f"fitted at n = {high:.4g} alone: the laws know nothing of n = {n:.4g}"]
    if n > high * (1 + 1e-6):
        return [f"{n / high:.3g}x the largest fitted size ({high:.4g})"]
    if n < low * (1 - 1e-6):
        return [f"{low / n:.3g}x below the smallest fitted size ({low:.4g})"]
    return []


def weight_notes(law: Law, p: float) -> list[str]:
    """Says when a task's weight lies outside the fitted runs."""
    low, high = law.fitted_range["p"]
    if low - 1e-9 <= p <= high + 1e-9:
        return []
    return [f"p = {p:.3g} of {law.task} is outside the fitted {low:g} to {high:g}"]
