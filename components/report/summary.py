"""The first screen in words and ``summary.json`` in numbers: one reading of a run."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from components.fit import held_out
from components.report import findings
from components.report.config import Config
from components.report.record import RunRecord
from components.report.training_figures import movements
from components.report.words import count_text, listed, many, percent, span, with_error
from models.laws import ApproximateLaw, BivariateLaw, JointLaw, Law
from models.laws.data_law import DataLaw

_NAMED = 6  # trials that a warning names
_TOLD = 4  # tasks whose coefficients the first screen tells one by one
_GOOD = 0.99  # of the variance: what the papers' fits reach


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A statement, plain text.

    Attributes:
      lead: Its first words, printed bold; may be empty.
      text: The rest.
    """

    lead: str
    text: str


@dataclasses.dataclass(frozen=True)
class Tile:
    """One number of the first screen: what it is, and a note to it."""

    value: str
    name: str
    note: str


def to_json(record: RunRecord, config: Config) -> dict[str, Any]:
    """The numbers of a run; null where there is none."""
    r2 = {
        kind.kind: {law.task: law.statistics["r2"] for law in record.first_laws(kind)}
        for kind in (JointLaw, ApproximateLaw)
    }
    errors = {
        kind: held_out.summarise(held_out.chosen(record.compared, kind))
        for kind in held_out.KINDS
    }
    failed = len(record.failed)
    return {
        "r2": r2,
        "held_out": {k: one and dataclasses.asdict(one) for k, one in errors.items()},
        "recommendation": record.recommendation,
        "trials": {"done": len(record.trials) - failed, "failed": failed},
        "findings": findings.to_json(findings.find(record, config.level)),
        "warnings": [f"{one.lead} {one.text}" for one in warnings(record, config)],
        "seconds": {verb: made.seconds for verb, made in record.manifests.items()},
    }


def tiles(record: RunRecord) -> list[Tile]:
    """The numbers that matter."""
    found = []
    joints = record.first_laws(JointLaw)
    if joints:
        worst = percent(min(law.statistics["r2"] or 0.0 for law in joints))
        found.append(Tile(worst, "of the variance", "joint law, worst task"))
    for kind in held_out.KINDS:
        errors = held_out.summarise(held_out.chosen(record.compared, kind))
        if errors:
            note = f"worst {errors.max_error_percent:.2f} % of {errors.n_points} "
            note += record.quantity.many
            value = f"{errors.median_error_percent:.2f} %"
            found.append(Tile(value, f"median error, held-out {kind}", note))
    advice = record.recommendation
    if advice and len(advice["weights"]) == 2:
        task, weight = next(iter(advice["weights"].items()))
        note = f"{span(*advice['weight_intervals'][task])}, for N = "
        note += count_text(advice["n"])
        found.append(Tile(f"{weight:.2f}", f"recommended weight of {task}", note))
    return found


def sentences(record: RunRecord) -> list[Sentence]:
    """What was trained, what the laws say, how well they predict, what to train."""
    found = [_trained(record), _laws_say(record), _predicted(record)]
    if record.recommendation:
        found.append(_recommended(record, record.recommendation))
    elif len(record.tasks) == 1:
        found.append(Sentence("", "With one task there are no weights to recommend."))
    return found


def warnings(record: RunRecord, config: Config) -> list[Sentence]:
    """What a reader must know before trusting the numbers."""
    found = [Sentence("", note) for note in record.notes]
    found += [
        Sentence(f"{one.trial} failed:", one.reason or "no reason was recorded")
        for one in record.failed
    ]
    found += _unconverged(record, config)
    found += _extrapolated(record)
    found += _outside_interval(record)
    found += _back_tests(record)
    found += law_warnings([law for law in record.laws if len(law.weightings) > 1])
    return found


def law_warnings(laws: Sequence[Law]) -> list[Sentence]:
    """The fits' own warnings; one that several laws share is told once."""
    owners: dict[str, list[str]] = {}
    for law in laws:
        single = len(law.weightings) == 1
        p = f" at p = {law.weightings[0].label}" if single else ""
        name = f"{law.kind} law of {law.task}{p}"
        if len({law.test_set for law in laws}) > 1:
            name += f" ({law.test_set})"
        for text in law.warnings:
            owners.setdefault(text, []).append(name)
    return [Sentence("", f"{', '.join(o)}: {text}") for text, o in owners.items()]


def _trained(record: RunRecord) -> Sentence:
    measured = record.rows or record.points
    sizes = sorted({one.n for one in measured})
    mixtures = {one.mixture for one in measured if one.mixture}
    seeds = {one.seed for one in measured}
    names = {one.trial for one in record.points}
    done = len(record.trials) - len(record.failed) if record.trials else len(names)
    text = f"of {many(len(sizes), 'size')}"
    if sizes:
        ends = dict.fromkeys(count_text(n) for n in (sizes[0], sizes[-1]))
        text += f" ({' to '.join(ends)} non-embedding parameters)"
        if len(mixtures) > 1:
            text += f" and {many(len(mixtures), 'mixture')}"
        if record.tasks:
            text += f" of {_tasks(record)}"
    text += " were trained" if done != 1 else " was trained"
    if len(seeds) > 1:
        text += f", with {len(seeds)} seeds"
    if record.failed:
        text += f"; {many(len(record.failed), 'trial')} failed"
    count = len({point.trial for point in record.points if point.held_out})
    if count:
        text += f". The fit has not seen {count} of them"
    return Sentence(many(done, "model"), f"{text}.")


def _tasks(record: RunRecord) -> str:
    if len(record.tasks) > 2 * _TOLD:
        return many(len(record.tasks), "task")
    return listed(record.tasks)


def _laws_say(record: RunRecord) -> Sentence:
    laws = record.first_laws(JointLaw)
    if not laws:
        if any(isinstance(law, BivariateLaw) for law in record.laws):
            return Sentence(
                "", "A bivariate law describes encoder and decoder (below)."
            )
        if record.laws:
            return Sentence("", "There is no joint law, only one for each weighting.")
        return Sentence("There is no law of these runs yet.", "")
    modelled = record.quantity.modelled
    if len(laws) > _TOLD:
        alphas = [law.parameters["alpha"] for law in laws]
        worst = percent(min(law.statistics["r2"] or 0.0 for law in laws))
        text = f"α from {min(alphas):.3f} to {max(alphas):.3f}, R² {worst} or more"
    else:
        text = "; ".join(
            f"{law.task} α = "
            f"{with_error(law.parameters['alpha'], law.standard_errors['alpha'], 3)}, "
            f"L∞ = {law.parameters['irreducible_loss']:.3f}, "
            f"R² = {percent(law.statistics['r2'])}: ten times the parameters remove "
            f"{100 * (1 - 10.0 ** -law.parameters['alpha']):.0f} % of the reducible "
            f"{modelled}"
            for law in laws
        )
    if record.quantity.ceiling is not None:
        one = record.quantity.one
        text += f". {one} rises, so the laws are of its {modelled}"
    return Sentence(f"{_verdict(record, laws)}:", f"{text}.")


def _verdict(record: RunRecord, laws: Sequence[Law]) -> str:
    """What the joint laws are worth, in the bar of the papers: 99 % of the variance."""
    backtest = record.backtests.get(record.test_set or "")
    if min(law.statistics["r2"] or 0.0 for law in laws) < _GOOD:
        return "The joint law does not describe these runs well"
    if backtest is not None and backtest.rejects_equation_7:
        return "The joint law fits, but predicts larger models less well than others"
    several = any(len(law.weightings) > 1 for law in laws)
    return f"One law describes all {'mixtures' if several else 'sizes'}"


def _predicted(record: RunRecord) -> Sentence:
    parts, every = [], []
    for kind in held_out.KINDS:
        chosen = held_out.chosen(record.compared, kind)
        errors = held_out.summarise(chosen)
        if errors is None:
            continue
        every += chosen
        sizes = ", ".join(count_text(n) for n in sorted({one.n for one in chosen}))
        name = f"the held-out {kind}" + (f" ({sizes})" if kind == "size" else "")
        parts.append(
            f"{name} within {errors.median_error_percent:.2f} % (median) and "
            f"{errors.max_error_percent:.2f} % (worst)"
        )
    total = held_out.summarise(every)
    if total is None:
        return Sentence("", "Nothing was held out, so no prediction was tested.")
    text = f"the laws predict {listed(parts)}. {total.inside} of {total.with_interval} "
    text += f"measured {record.quantity.many} lie in their 95 % interval."
    return Sentence("Held-out validation:", text)


def _recommended(record: RunRecord, advice: Any) -> Sentence:
    weights = ", ".join(
        f"{task} {weight:.2f} ({span(*advice['weight_intervals'][task])})"
        for task, weight in advice["weights"].items()
    )
    words = record.quantity
    losses = ", ".join(f"{task} {loss:.3f}" for task, loss in advice["losses"].items())
    verdict = advice["verdict"][:1].upper() + advice["verdict"][1:]
    text = f"for a model of {count_text(advice['n'])}: {weights}. "
    text += f"Predicted {words.many}: {losses}{words.unit}. {verdict}."
    return Sentence("Recommended weights", text)


def _unconverged(record: RunRecord, config: Config) -> list[Sentence]:
    limit, ends = config.movement_percent, movements(record)
    moving = [one for one in ends if one.exceeds(limit)]
    if not moving:
        return []
    moving.sort(key=lambda one: -abs(one.fall_percent))
    named = ", ".join(
        f"{one.trial} {one.task} {one.fall_percent:+.1f} %" for one in moving[:_NAMED]
    )
    if len(moving) > _NAMED:
        named += f" and {len(moving) - _NAMED} more"
    falls = [abs(one.fall_percent) for one in ends if one.fall_percent is not None]
    advice = (
        "Train longer, or fewer and smaller models: rare tasks that have not converged "
        "distort α and L∞."
    )
    if any(one.chosen == DataLaw.kind for one in record.backtests.values()):
        advice = (
            "The data law, which the back-test chose, counts the tokens that each run "
            "had seen; α and L∞ of the other laws hold for this length of training."
        )
    text = (
        f"the loss moved more than {limit:g} % over the last doubling of steps (median "
        f"of all curves {statistics.median(falls):.2f} %): {named}. {advice}"
    )
    lead = f"{len(moving)} of {len(ends)} learning curves have not converged:"
    return [Sentence(lead, text)]


def _back_tests(record: RunRecord) -> list[Sentence]:
    found = []
    for test_set, one in record.backtests.items():
        if one.beaten_by_persistence:
            lead = "No law predicts the largest fitted size"
            text = f"better than the {record.quantity.one} of the next smaller size "
            text += f"does ({test_set}). The sizes are too few or too alike."
            found.append(Sentence(lead, text))
        if one.rejects_equation_7:
            lead = "The back-test rejects the joint law"
            text = f"on {test_set}: the {one.chosen} law predicts the largest size "
            text += "better. Rare tasks that have not converged look like this."
            found.append(Sentence(lead, text))
    return found


def _extrapolated(record: RunRecord) -> list[Sentence]:
    laws = record.first_laws(ApproximateLaw)
    if not record.recommendation or not laws:
        return []
    n = record.recommendation["n"]
    largest = max(law.fitted_range["n"][1] for law in laws)
    if n <= 1.0001 * largest:
        return []
    text = f"{count_text(n)} is {n / largest:.3g} times the largest fitted size "
    return [
        Sentence("The recommendation extrapolates:", f"{text}({count_text(largest)}).")
    ]


def _outside_interval(record: RunRecord) -> list[Sentence]:
    every = [one for k in held_out.KINDS for one in held_out.chosen(record.compared, k)]
    errors = held_out.summarise(every)
    if errors is None or errors.with_interval < 4:
        return []
    if errors.inside >= 0.75 * errors.with_interval:
        return []
    lead = f"Only {errors.inside} of {errors.with_interval} held-out "
    lead += f"{record.quantity.many} lie in their 95 % interval:"
    return [
        Sentence(lead, "the runs scatter more, or bend more, than the fit expects.")
    ]
