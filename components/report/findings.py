"""What the papers found, put to the test on a run: answers in words and in numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from components.fit.quality import METRICS
from components.report.record import METRIC_NAMES, RunRecord
from components.report.words import percent
from models.laws import ApproximateLaw, BivariateLaw, IndividualLaw, JointLaw
from models.laws import findings as tests
from models.laws.findings import Difference, Outcome

_RARE = 0.05  # the weight at which Fernandes et al. 2023 compare capacities
_TIMES = (3, 6)
_NAMES = {"alpha": "exponent α", "irreducible_loss": "irreducible loss L∞"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One question and its answer.

    Attributes:
      question: As a program asks for it, ``constant alpha``.
      task: Of which task.
      holds: The answer.
      text: A sentence with the numbers.
      numbers: The same for a program.
    """

    question: str
    task: str
    holds: bool
    text: str
    numbers: Mapping[str, float]


def find(record: RunRecord, level: float) -> list[Finding]:
    """Every question that the laws of a run can answer."""
    found = []
    for task in record.tasks:
        found += _constancy(record, task)
        found += _enough(record, task)
        found += _capacity(record, task, level)
        found += _sides(record, task)
        found += _linearity(record, task)
    return found


def to_json(findings: list[Finding]) -> list[dict[str, Any]]:
    """The findings as JSON values; null where a number is not finite."""
    records = [dataclasses.asdict(one) for one in findings]
    for record in records:
        record["numbers"] = {
            name: value if math.isfinite(value) else None
            for name, value in record["numbers"].items()
        }
    return records


def tested(outcome: Outcome) -> str:
    """``χ² = 3.1 for 4 degrees of freedom, P = 0.54``."""
    degrees = "degree" if outcome.dof == 1 else "degrees"
    return (
        f"χ² = {outcome.chi_square:.3g} for {outcome.dof} {degrees} of freedom, "
        f"{chance(outcome)}"
    )


def chance(outcome: Outcome) -> str:
    """``P = 0.54``, ``P < 0.0001``."""
    p = outcome.p_value
    return f"P = {p:.2g}" if p >= 1e-4 else "P < 0.0001"


def numbers_of(outcome: Outcome) -> dict[str, float]:
    """The test for a program."""
    return {
        "chi_square": outcome.chi_square,
        "degrees_of_freedom": outcome.dof,
        "error_degrees_of_freedom": outcome.error_dof,
        "p_value": outcome.p_value,
    }


def _constancy(record: RunRecord, task: str) -> list[Finding]:
    laws, found = record.laws_of(IndividualLaw, task), []
    for name, words in _NAMES.items():
        one = tests.constancy(laws, name)
        if one is None:
            continue
        holds = not one.outcome.rejected
        text = (
            f"The {words} of {task} {'is constant in p' if holds else 'changes with p'}"
            f"{' within its errors' if holds else ''}: {tested(one.outcome)}. The "
            f"largest deviation from {one.mean:.3f} is {abs(one.largest):.1f} standard "
            f"errors, at p = {one.at:g}."
        )
        numbers = numbers_of(one.outcome) | {
            "mean": one.mean,
            "largest_deviation": one.largest,
            "largest_deviation_at": one.at,
        }
        found.append(Finding(f"constant {name}", task, holds, text, numbers))
    return found


def _enough(record: RunRecord, task: str) -> list[Finding]:
    joint, laws = record.law(JointLaw, task), record.laws_of(IndividualLaw, task)
    outcome = tests.enough(joint, laws) if joint is not None else None
    if joint is None or outcome is None:
        return []
    few, many = len(joint.parameters), len(joint.parameters) + outcome.dof
    holds = not outcome.rejected
    r2 = joint.statistics["r2"] or math.nan
    left = 1 - (1 - r2) / (1 + outcome.chi_square / outcome.error_dof)
    text = (
        f"The joint law of {task} with {few} coefficients fits "
        f"{'as well as' if holds else 'worse than'} one law for each weighting with "
        f"{many}: R² {percent(r2)} against {percent(left)}, {tested(outcome)}."
    )
    numbers = numbers_of(outcome) | {"coefficients": few, "individual": many}
    numbers |= {"r2": r2, "individual_r2": left}
    return [Finding("joint law is enough", task, holds, text, numbers)]


def _capacity(record: RunRecord, task: str, level: float) -> list[Finding]:
    law = record.law(ApproximateLaw, task)
    if law is None or len(record.tasks) < 2:
        return []
    weightings = [one for one in law.weightings if 0 < one.p < 1]
    if not weightings:
        return []
    rarest = min(weightings, key=lambda one: (abs(one.p - _RARE) > 1e-6, one.p))
    f, low, high = (
        float(value) / rarest.p for value in law.effective_fraction(rarest, level)
    )
    if not math.isfinite(high) or high > 1e3:
        return []
    above = [limit for limit in _TIMES if low > limit]
    below = [limit for limit in _TIMES if high < limit]
    sides = [f"more than {above[-1]} times"] if above else []
    sides += [f"less than {below[0]} times"] if below else []
    compared = f": {' and '.join(sides)}" if sides else ""
    text = (
        f"At p = {rarest.p:g} {task} gets {f:.2f} times its share of the model "
        f"({low:.2f} to {high:.2f}){compared}."
    )
    numbers = {"p": rarest.p, "f_over_p": f, "low": low, "high": high}
    return [Finding("more capacity than its share", task, low > 1, text, numbers)]


def _sides(record: RunRecord, task: str) -> list[Finding]:
    found = []
    for law in record.laws_of(BivariateLaw, task):
        one = tests.compare_sides(law)
        if one is None:
            continue
        verb = "exceeds" if one.value > 0 else "is below"
        text = f"The exponent of the decoder of {task} {verb} that of the encoder"
        if not one.outcome.rejected:
            text = f"The exponents of decoder and encoder of {task} agree within errors"
        text += f": p_d = {one.first:.3f}, p_e = {one.second:.3f}, {difference(one)}."
        numbers = difference_numbers(one)
        holds = one.outcome.rejected and one.value > 0
        found.append(Finding("decoder exponent is larger", task, holds, text, numbers))
    return found


def difference(one: Difference, digits: int = 3) -> str:
    """``difference 0.061 (0.021 to 0.101), P = 0.0042``."""
    return (
        f"difference {one.value:+.{digits}f} ({one.low:+.{digits}f} to "
        f"{one.high:+.{digits}f}), {chance(one.outcome)}"
    )


def difference_numbers(one: Difference) -> dict[str, float]:
    """The difference for a program."""
    own = {"first": one.first, "second": one.second, "difference": one.value}
    return numbers_of(one.outcome) | own | {"low": one.low, "high": one.high}


def _linearity(record: RunRecord, task: str) -> list[Finding]:
    found = []
    unseen = {point.trial for point in record.points if point.held_out}
    for metric in METRICS:
        ends = [
            (row.loss, getattr(row, metric))
            for row in record.rows
            if (row.task, row.loss_kind) == (task, "final")
            and record.test_set in (row.test_set, f"{row.test_set}:{row.origin}")
            and row.p > 0
            and row.trial not in unseen
            and None not in (row.loss, getattr(row, metric))
        ]
        outcome = tests.curvature(*zip(*ends, strict=True)) if ends else None
        if outcome is None:
            continue
        holds, name = not outcome.rejected, METRIC_NAMES[metric]
        text = f"{name} of {task} is a straight line of the loss within its scatter"
        if not holds:
            text = f"{name} of {task} is not a straight line of the loss"
        text += f": the quadratic term has {tested(outcome)}."
        found.append(
            Finding(f"{metric} is linear", task, holds, text, numbers_of(outcome))
        )
    return found
