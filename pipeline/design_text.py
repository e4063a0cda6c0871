"""An experiment design, for a person to read."""

from __future__ import annotations

from pipeline.design import Design, Next


def text(found: Design) -> str:
    """What parts of the sweep would do, the trials of one, and what to train next."""
    lines = [] if not found.choices else _choices(found)
    if found.done:
        lines += _next(found)
    elif found.choices:
        listed = found.choices[found.listed]
        lines.append(f"{listed.interval:.2f}x, most informative first (--interval):")
        lines += [f"  {name}" for name in listed.trials]
    return "\n".join(lines) + "\n"


def _choices(found: Design) -> list[str]:
    more = "more" if found.done else "trials"
    lines = [
        f"enough to predict {_goal(found)} (--n, --p):",
        f"  {'interval':<10}{more:>12}{'cost':>8}{'law alone':>12}",
    ]
    for choice in found.choices:
        count = f"{len(choice.trials)} of {found.trials}"
        lines.append(
            f"  {f'{choice.interval:.2f}x':<10}{count:>12}"
            f"{f'{choice.cost_share:.0%}':>8}{f'{choice.law_interval:.2f}x':>12}"
        )
    return [
        *lines,
        f"interval: 95 %, of a newly trained model, over that after all "
        f"{found.trials} trials,",
        f"+/- {found.half_width:.2g} where seeds differ by {_noise(found)}; law "
        "alone: without the noise of that model",
        "",
    ]


def _next(found: Design) -> list[str]:
    now = "a newly trained model cannot be told from so few runs"
    if found.half_width_now is not None:
        now = (
            f"a newly trained model is +/- {found.half_width_now:.4f}, of the law's "
            f"own value +/- {found.law_half_width_now:.4f}"
        )
    lines = [
        f"{found.done} runs are trained; at {_goal(found)} the 95 % interval of",
        f"{now}, where seeds differ by {_noise(found)}",
    ]
    if not found.next:
        return [*lines, "every trial of the sweep is trained"]
    shown = [one for one in (*found.next, found.most_informative) if one]
    width = max(len(one.trial) for one in shown)
    lines.append("train next, by what each adds for its cost:")
    lines += [_line(one, width) for one in found.next]
    if found.most_informative:
        lines.append("the most informative one at any cost:")
        lines.append(_line(found.most_informative, width))
    return lines


def _line(one: Next, width: int) -> str:
    return (
        f"  {one.trial:<{width}}  {one.cost:>6.1%} of what is spent, then +/- "
        f"{one.half_width:.4f}, {one.law_half_width:.4f}"
    )


def _goal(found: Design) -> str:
    at = "its mixtures"
    if len(found.target_mixtures) == 1:
        at = found.target_mixtures[0]
    return f"n = {found.target_n:.3g} at {at}"


def _noise(found: Design) -> str:
    return ", ".join(dict.fromkeys(f"{sd:.2g}" for sd in found.noise.values()))
