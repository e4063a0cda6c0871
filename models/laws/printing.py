"""A fitted law as a scientist writes it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.laws.law import Law

# Names of the reference sizes in equations.
_REFERENCES = {"n": "n0", "n_enc": "ne0", "n_dec": "nd0", "tokens": "D0"}


def law_text(law: Law) -> str:
    """Estimates with errors, quality of the fit, correlations and warnings."""
    label = law.weightings[0].label
    where = f", p = {label}" if len(law.weightings) == 1 else ""
    lines = [f"{law.kind} law of {law.task}, {law.test_set}, {law.metric}{where}"]
    references = [
        f"{_REFERENCES[name]} = {value:.4g}"
        for name, value in law.reference.items()
        if name in _REFERENCES and _REFERENCES[name] in law.equation
    ]
    lines.append(f"  {law.equation}; {', '.join(references)}")
    width = max(len(name) for name in law.parameters)
    for name, value in law.parameters.items():
        lines.append(f"  {name:<{width}}  {_estimate(law, name, value)}")
    lines += [f"  {text}" for text in law.remarks()]
    lines.append(f"  {_quality(law)}")
    lines += [f"  correlation {text}" for text in _correlations(law)]
    lines += [f"  warning: {text}" for text in law.warnings]
    return "\n".join(lines)


def _estimate(law: Law, name: str, value: float) -> str:
    if name in law.fixed:
        return f"{value:10.5g}  (fixed)"
    error = law.standard_errors[name]
    if not math.isfinite(error):
        return f"{value:10.5g}  (no error estimate)"
    share = f" ({100 * error / abs(value):.1f} %)" if value else ""
    return f"{value:10.5g} +/- {error:.2g}{share}"


def _quality(law: Law) -> str:
    stats = law.statistics
    r2 = "R2 undefined" if stats["r2"] is None else f"R2 {stats['r2']:.5f}"
    return (
        f"{r2}, RMSE {stats['rmse']:.4g}, largest deviation "
        f"{stats['max_abs_error']:.4g}, {stats['n_points']:g} points, "
        f"{stats['dof']:g} degrees of freedom"
    )


def _correlations(law: Law, above: float = 0.9) -> list[str]:
    """Pairs of coefficients that the runs can hardly tell apart."""
    names = [n for n in law.parameters if n not in law.fixed + law.undetermined]
    errors = law.standard_errors
    place = {name: k for k, name in enumerate(law.parameters)}
    found = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            product = errors[first] * errors[second]
            if not (0 < product < math.inf):
                continue
            r = law.covariance[place[first], place[second]] / product
            if abs(r) > above:
                found.append((abs(r), f"{first}, {second}: {r:+.3f}"))
    return [text for _, text in sorted(found, reverse=True)[:3]]
