"""``report.txt``: the fit as a scientist would show it on one screen."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from components.fit.held_out import Compared
from components.fit.law_file import LawFile
from models.errors import UserError
from models.laws import ApproximateLaw, IndividualLaw, Law, find
from models.laws.query import Shares


def report_text(content: LawFile, compared: Sequence[Compared]) -> str:
    """Every law with its errors, effective fractions, held-out runs and warnings."""
    laws, provenance = content.laws, content.provenance
    parts = [f"{len(laws)} laws from {provenance.runs} runs"]
    parts += [f"note: {note}" for note in provenance.notes]
    singles = [law for law in laws if isinstance(law, IndividualLaw)]
    parts.append(individual_table(singles))
    for law in laws:
        if not isinstance(law, IndividualLaw):
            parts += ["", law.describe()]
    parts += [f"\n{test_set}: {one}" for test_set, one in provenance.backtest.items()]
    parts.append(fractions_table(laws))
    parts.append(held_out_table(compared))
    return "\n".join(part for part in parts if part is not None)


def individual_table(laws: Sequence[Law]) -> str | None:
    """One line a weighting: the coefficients of [M] eq. 6."""
    if not laws:
        return None
    names = [f"{law.task} {law.test_set} p={_weights(law)}" for law in laws]
    width = max(28, *(len(name) + 1 for name in names))
    columns = f"{'alpha':>18}{'Linf':>18}{'R2':>9}{'points':>8}"
    lines = [f"\n{'individual laws':<{width}}{columns}"]
    for name, law in zip(names, laws, strict=True):
        r2 = law.statistics["r2"]
        lines.append(
            f"{name:<{width}}{_pair(law, 'alpha'):>18}"
            f"{_pair(law, 'irreducible_loss'):>18}"
            f"{'-' if r2 is None else format(r2, '.4f'):>9}"
            f"{law.statistics['n_points']:>8g}"
        )
        lines += [
            f"  warning: {text}"
            for text in law.warnings
            if "degrees of freedom" not in text  # the points say it
        ]
    return "\n".join(lines)


def fractions_table(laws: Sequence[Law]) -> str | None:
    """Effective fractions f_i(p), [M] eq. 10, from both laws that give one."""
    lines = []
    for law in laws:
        if not isinstance(law, ApproximateLaw):
            continue
        joint = find(laws, "joint", law.task, law.test_set)
        lines.append(f"\neffective fraction of {law.task}, {law.test_set}")
        for weighting in law.weightings:
            p = weighting.mixture or weighting.p
            fitted = _fraction(law, p)
            measured = "" if joint is None else f"   joint {_fraction(joint, p)}"
            lines.append(f"  p = {weighting.label:<8} f = {fitted}{measured}")
    return "\n".join(lines) if lines else None


def held_out_table(compared: Sequence[Compared]) -> str | None:
    """Predicted against measured, and the errors in percent."""
    if not compared:
        return None
    lines = [
        f"\n{'never shown to the fit':<34}{'law':<12}{'measured':>9}{'predicted':>10}"
        f"{'95 % interval':>18}{'error':>9}"
    ]
    for one in compared:
        interval = f"{one.low:.3f}..{one.high:.3f}"
        lines.append(
            f"{one.trial + ' ' + one.task:<34}{one.law:<12}{one.loss:>9.4f}"
            f"{one.predicted:>10.4f}{interval:>18}{one.error_percent:>+8.2f}%"
        )
    for kind in ("size", "mixture"):
        for law in dict.fromkeys(one.law for one in compared):
            errors = [
                abs(one.error_percent)
                for one in compared
                if one.kind == kind and one.law == law
            ]
            if errors:
                lines.append(
                    f"held-out {kind}, {law} law: median error "
                    f"{statistics.median(errors):.2f} %, worst {max(errors):.2f} %"
                )
    return "\n".join(lines)


def _weights(law: Law) -> str:
    """The mixture of an individual law: p tells it where there are two tasks."""
    weighting = law.weightings[0]
    if len(weighting.mixture) < 3 and len(law.tasks) < 3:
        return weighting.label
    shown = ",".join(f"{task}={w:.3g}" for task, w in weighting.mixture.items())
    return f"{shown};{weighting.group}" if weighting.group else shown


def _pair(law: Law, name: str) -> str:
    return f"{law.parameters[name]:.3f} +/- {law.standard_errors[name]:.2g}"


def _fraction(law: Law, p: Shares) -> str:
    try:
        f, low, high = law.effective_fraction(p)
    except UserError:
        return "-"
    return f"{float(f):.4f} ({float(low):.4f}..{float(high):.4f})"
