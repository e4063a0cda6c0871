"""``summary.txt``: what a fit comes to, on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from components.fit import held_out
from components.fit.held_out import Compared
from components.fit.law_file import LawFile
from models.errors import UserError
from models.laws import Law, recommend
from models.laws.backtest import Backtest

FILE_NAME = "summary.txt"
_DOUBTS = 4
_WIDEST = 400  # characters of a line: a sentence, not a list


def summary_text(content: LawFile, compared: Sequence[Compared]) -> str:
    """How well left-out runs are predicted, what to train with, what to doubt."""
    provenance = content.provenance
    kinds = Counter(law.kind for law in content.laws)
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    lines = [f"{len(content.laws)} laws from {provenance.runs} runs: {shown}"]
    lines += [
        _backtest_line(test_set, one) for test_set, one in provenance.backtest.items()
    ]
    lines += _held_out_lines(compared)
    lines.append(_recommendation_line(content))
    doubts = _doubts(content)
    lines += [f"doubt: {text}" for text in doubts[:_DOUBTS]]
    if len(doubts) > _DOUBTS:
        lines.append(f"and {len(doubts) - _DOUBTS} more warnings in report.txt")
    return "\n".join(line[:_WIDEST] for line in lines) + "\n"


def _backtest_line(test_set: str, one: Backtest) -> str:
    others = ", ".join(
        f"{kind} {rmse:.4f}" for kind, rmse in one.errors.items() if kind != one.chosen
    )
    return (
        f"back-test on {test_set}, {one.scheme}: the {one.chosen} law predicts best, "
        f"RMSE {one.errors[one.chosen]:.4f} ({others})"
    )


def _held_out_lines(compared: Sequence[Compared]) -> list[str]:
    lines = []
    for kind in held_out.KINDS:
        rows = held_out.chosen(compared, kind)
        if not rows:
            continue
        errors = held_out.summarise(rows)
        laws = ", ".join(dict.fromkeys(one.law for one in rows))
        lines.append(
            f"held-out {kind} ({laws} law): median error "
            f"{errors.median_error_percent:.2f} %, worst "
            f"{errors.max_error_percent:.2f} %; {errors.inside} of {errors.n_points} "
            "measured values lie in their 95 % interval"
        )
    return lines or ["nothing was held out (--hold-out)"]


def _recommendation_line(content: LawFile) -> str:
    """Weights for the largest fitted size, which need no extrapolation."""
    known = content.known
    if len(known.groups) > 1:
        return "recommendation: one for each group; polyscale recommend --by says which"
    try:
        trade_off = known.trade_off(group=known.groups[0])
        n = max(law.fitted_range["n"][1] for law in trade_off.laws)
        found = recommend(trade_off.laws, n)
    except UserError as error:
        return f"no recommendation: {error}"
    weights = ", ".join(
        f"{task} {weight:.2f} ({low:.2f} to {high:.2f})"
        for (task, weight), (low, high) in zip(
            found.weights.items(), found.weight_intervals.values(), strict=True
        )
    )
    return (
        f"recommendation for n = {n:.4g} and equal preferences ({trade_off.law}): "
        f"{weights}; {found.verdict}"
    )


def _doubts(content: LawFile) -> list[str]:
    """Notes of the fit, then its laws' warnings, each once."""
    alike: dict[str, list[Law]] = {}
    for law in content.laws:
        for text in law.warnings:
            alike.setdefault(text, []).append(law)
    ranked = sorted(alike.items(), key=lambda one: -len(one[1]))
    return [
        *content.provenance.notes,
        *(
            f"{laws[0].name}{f' and {len(laws) - 1} more' if len(laws) > 1 else ''}: "
            f"{text}"
            for text, laws in ranked
        ),
    ]
