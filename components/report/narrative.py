"""The page's first screen: what was trained, what was found, what to beware of."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from html import escape

from components.report import convergence, proof
from components.report.appearance import count_text
from components.report.config import Config
from components.report.measured import measured, quantity
from components.report.record import RunRecord
from models.laws import Law

_NAMED = 6
_GOOD = 0.99


def headline(record: RunRecord) -> list[tuple[str, str, str]]:
    """The numbers that matter: (value, what it is, note), HTML."""
    tiles = []
    joints = _laws(record, "joint")
    if joints:
        worst = min(law.statistics["r2"] or 0.0 for law in joints)
        tiles.append((_percent(worst), "of the variance", "joint law, worst task"))
    for kind in proof.KINDS:
        errors = proof.errors(record.compared, kind)
        if errors:
            tiles.append(
                (
                    f"{errors['median_error_percent']:.2f} %",
                    f"median error, held-out {kind}",
                    f"worst {errors['max_error_percent']:.2f} % of "
                    f"{errors['n_points']} {quantity(record).many}",
                )
            )
    advice = record.recommendation
    if advice and len(advice["weights"]) == 2:
        task, weight = next(iter(advice["weights"].items()))
        low, high = advice["weight_intervals"][task]
        note = f"{_span(low, high)}, for N = {count_text(advice['n'])}"
        tiles.append((f"{weight:.2f}", f"recommended weight of {_name(task)}", note))
    return tiles


def sentences(record: RunRecord) -> list[str]:
    """The run in plain words, HTML."""
    found = [_what_was_trained(record)]
    found += _what_the_law_says(record)
    found += _what_was_predicted(record)
    found += _what_is_recommended(record)
    return found


def warnings(record: RunRecord, config: Config) -> list[str]:
    """What a reader must know before trusting the numbers, HTML."""
    found = [escape(note) for note in record.notes]
    found += [
        f"<b>{escape(one.trial)} failed</b>: {escape(one.reason or 'no reason given')}"
        for one in record.failed
    ]
    found += _not_converged(record, config)
    found += _beyond_the_fit(record)
    found += _outside_interval(record)
    found += _back_tests(record)
    found += law_warnings([law for law in record.laws if len(law.weightings) > 1])
    return found


def law_warnings(laws: Sequence[Law]) -> list[str]:
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
    return [f"{escape(', '.join(o))}: {escape(text)}" for text, o in owners.items()]


def _laws(record: RunRecord, kind: str) -> list[Law]:
    found = [record.law(kind, task) for task in record.tasks]
    return [law for law in found if law is not None]


def _what_was_trained(record: RunRecord) -> str:
    sizes = dict(sorted((row.n, row.size) for row in record.rows))
    mixtures = {row.mixture for row in record.rows}
    seeds = {row.seed for row in record.rows}
    done = len(record.endings) - len(record.failed)
    text = f"<b>{_many(done, 'model')}</b> of {_many(len(sizes), 'size')}"
    if sizes:
        low, high = min(sizes), max(sizes)
        text += (
            f" ({count_text(low)} to {count_text(high)} non-embedding parameters) and "
            f"{_many(len(mixtures), 'mixture')} of {_listed(record.tasks)}"
        )
    text += " were trained" if done != 1 else " was trained"
    if len(seeds) > 1:
        text += f", {len(seeds)} seeds each"
    if record.failed:
        text += f"; {_many(len(record.failed), 'trial')} failed"
    held = [point for point in measured(record) if point.held_out]
    if held:
        count = len({point.trial for point in held})
        text += f". {count} of them {'was' if count == 1 else 'were'} kept from the fit"
    return text + "."


def _what_the_law_says(record: RunRecord) -> list[str]:
    laws = _laws(record, "joint")
    if not laws:
        singles = [law for task in record.tasks for law in record.individual(task)]
        if not singles:
            return ["<b>There is no law of these runs yet.</b>"]
        return ["There is no joint law, only one per weighting (below)."]
    parts = []
    for law in laws:
        alpha, error = law.parameters["alpha"], law.standard_errors["alpha"]
        tenfold = 100 * (1 - 10.0 ** (-alpha))
        parts.append(
            f"{_name(law.task)} α = {alpha:.3f} ± {error:.2g}, <i>L</i><sub>∞</sub> = "
            f"{law.parameters['irreducible_loss']:.3f}, <i>R</i>² = "
            f"{_percent(law.statistics['r2'] or 0.0)}: a tenfold model removes "
            f"{tenfold:.0f} % of the reducible {quantity(record).modelled}"
        )
    aside = quantity(record).aside
    return [
        f"<b>{_verdict(record, laws)}</b>, <i>L</i> = "
        "β<sub>p</sub>·(<i>N</i>/<i>N</i><sub>0</sub>)<sup>−α</sup> + "
        f"<i>L</i><sub>∞</sub>: {'; '.join(parts)}." + (f" {aside}" if aside else "")
    ]


def _verdict(record: RunRecord, laws: Sequence[Law]) -> str:
    """What the joint laws are worth, in the bar of the papers: 99 % of the variance."""
    backtest = record.backtests.get(record.test_set or "")
    worst = min(law.statistics["r2"] or 0.0 for law in laws)
    if worst < _GOOD:
        return "The joint law does not describe these runs well"
    if backtest is not None and backtest.rejects_equation_7:
        return "The joint law fits, but predicts larger models less well than others"
    several = any(len(law.weightings) > 1 for law in laws)
    return f"One law describes all {'mixtures' if several else 'sizes'}"


def _what_was_predicted(record: RunRecord) -> list[str]:
    found = []
    for kind in proof.KINDS:
        errors = proof.errors(record.compared, kind)
        if errors is None:
            continue
        which = proof.chosen(record.compared, kind)
        if kind == "size":
            names = ", ".join(count_text(n) for n in sorted({one.n for one in which}))
            subject = f"held-out size ({names})"
        else:
            subject = "held-out mixture"
        found.append(
            f"the {subject} within {errors['median_error_percent']:.2f} % (median) and "
            f"{errors['max_error_percent']:.2f} % (worst)"
        )
    if not found:
        return ["Nothing was held out, so no prediction was put to the test."]
    inside, total = proof.covered(
        [one for kind in proof.KINDS for one in proof.chosen(record.compared, kind)]
    )
    text = f"<b>Never shown to the fit</b>, and predicted: {', '.join(found)}."
    many = quantity(record).many
    return [text + f" {inside} of {total} measured {many} lie in their 95 % interval."]


def _what_is_recommended(record: RunRecord) -> list[str]:
    advice = record.recommendation
    if not advice:
        return []
    weights = ", ".join(
        f"{_name(task)} {weight:.2f} ({_span(*advice['weight_intervals'][task])})"
        for task, weight in advice["weights"].items()
    )
    words = quantity(record)
    losses = ", ".join(
        f"{_name(task)} {loss:.3f}" for task, loss in advice["losses"].items()
    )
    return [
        f"<b>Recommended weights</b> for a model of {count_text(advice['n'])}: "
        f"{weights}. Predicted {words.many}: {losses}{words.unit}. "
        f"{escape(advice['verdict'][:1].upper() + advice['verdict'][1:])}."
    ]


def _not_converged(record: RunRecord, config: Config) -> list[str]:
    failed = {ending.trial for ending in record.failed}
    ends = convergence.movements(record.rows, record.test_set, without=failed)
    limit = config.movement_percent
    moving = [one for one in ends if one.exceeds(limit)]
    if not moving:
        return []
    moving.sort(key=lambda one: -abs(one.fall_percent))
    named = ", ".join(
        f"{_name(one.trial)} {_name(one.task)} {one.fall_percent:+.1f} %"
        for one in moving[:_NAMED]
    )
    middle = statistics.median(
        abs(one.fall_percent) for one in ends if one.fall_percent is not None
    )
    more = f" and {len(moving) - _NAMED} more" if len(moving) > _NAMED else ""
    return [
        f"<b>{len(moving)} of {len(ends)} learning curves had not converged</b>: their "
        f"loss moved more than {limit:g} % over the last doubling of steps (median of "
        f"all {middle:.2f} %): {named}{more}. Train longer, or fewer and smaller "
        "models; unconverged rare tasks distort α and <i>L</i><sub>∞</sub>."
    ]


def _back_tests(record: RunRecord) -> list[str]:
    found = []
    for test_set, one in record.backtests.items():
        if one.beaten_by_persistence:
            found.append(
                f"{escape(test_set)}: <b>no law predicts the largest fitted size "
                f"better than repeating the {quantity(record).one} of the next "
                "smaller one</b>; the sizes are too few or too alike."
            )
        if one.rejects_equation_7:
            found.append(
                f"{escape(test_set)}: <b>the back-test rejects the joint law</b> (one "
                "α and one <i>L</i><sub>∞</sub> for all weightings); what predicts "
                f"best is the {one.chosen} law. Unconverged rare tasks look like this."
            )
    return found


def _beyond_the_fit(record: RunRecord) -> list[str]:
    advice = record.recommendation
    laws = _laws(record, "approximate")
    if not advice or not laws:
        return []
    largest = max(law.fitted_range["n"][1] for law in laws)
    ratio = advice["n"] / largest
    if ratio <= 1.0001:
        return []
    return [
        f"The recommendation extrapolates: {count_text(advice['n'])} is "
        f"{ratio:.3g} times the largest fitted size ({count_text(largest)})."
    ]


def _outside_interval(record: RunRecord) -> list[str]:
    every = [one for kind in proof.KINDS for one in proof.chosen(record.compared, kind)]
    inside, total = proof.covered(every)
    if total < 4 or inside >= 0.75 * total:
        return []
    return [
        f"Only {inside} of {total} held-out {quantity(record).many} lie in their 95 % "
        "interval: the runs scatter more, or bend more, than the fit believes."
    ]


def _percent(share: float) -> str:
    """As many digits as it takes not to say 100 %: ``99.98 %``."""
    for digits in (1, 2, 3):
        text = f"{100 * share:.{digits}f}"
        if float(text) < 100:
            break
    return f"{text} %"


def _span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "interval open"
    return f"{low:.2f} to {high:.2f}"


def _name(text: str) -> str:
    """A name that is not broken at its hyphens."""
    return f"<span class=name>{escape(text)}</span>"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    shown = [_name(name) for name in names]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
