"""A fitted law as a scientist writes it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.laws.law import Law

EQUATIONS = {
    ("bivariate", "none"): (
        "L = beta (n_enc/ne0)^-alpha_enc (n_dec/nd0)^-alpha_dec + Linf   [N] eq. 1"
    ),
    ("individual", "none"): "L = beta (n/n0)^-alpha + Linf   [M] eq. 6",
    ("joint", "alpha+irreducible_loss"): (
        "L = beta_p (n/n0)^-alpha + Linf   [M] eq. 7"
    ),
    ("approximate", "flexible"): (
        "L = beta (f n/n0)^-alpha + Linf, f = p + c1 p^c2 (1-p)^c3   [M] eq. 11, 12"
    ),
    ("shared", "alpha"): "L = beta_p (n/n0)^-alpha + Linf_p",
    ("approximate", "transfer"): (
        "L = beta (f n/n0)^-alpha + Linf, f = p + sum g_j p_j   [M] eq. 11"
    ),
    ("approximate", "transfer+repetition"): (
        "L = beta (f n/n0)^-alpha + Linf, f = (p + sum g_j p_j) exp(r (1-p))   "
        "[M] eq. 11"
    ),
    ("approximate", "linear"): (
        "L = beta (f n/n0)^-alpha + Linf, f = c1 (p - 1) + 1   [M] eq. 11, 13"
    ),
}


def law_text(law: Law) -> str:
    """Estimates with errors, quality of the fit, correlations and warnings."""
    label = law.weightings[0].label
    where = f", p = {label}" if len(law.weightings) == 1 else ""
    lines = [f"{law.kind} law of {law.task}, {law.test_set}, {law.metric}{where}"]
    equation = EQUATIONS.get((law.kind, law.form))
    if equation:
        names = {"n": "n0", "n_enc": "ne0", "n_dec": "nd0"}
        shown = [k for k in law.reference if law.kind != "bivariate" or k != "n"]
        references = [f"{names[k]} = {law.reference[k]:.4g}" for k in shown]
        lines.append(f"  {equation}; {', '.join(references)}")
    width = max(len(name) for name in law.parameters)
    for name, value in law.parameters.items():
        lines.append(f"  {name:<{width}}  {_estimate(law, name, value)}")
    if law.kind == "bivariate":
        lines.append(f"  {_split(law)}")
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


def _split(law: Law) -> str:
    """The best split between the sides, and what an even one costs."""
    enc, dec = law.parameters["alpha_enc"], law.parameters["alpha_dec"]
    best = enc / (enc + dec)
    even = (2 * best) ** enc * (2 * (1 - best)) ** dec
    return (
        f"optimal split ([N] Prop. 1): {best:.1%} of n to the encoder, exponent "
        f"{enc + dec:.4g}; the same on both sides costs {even:.3f}x the reducible part"
    )


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
