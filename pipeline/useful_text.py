"""The most useful trials, for a person to read."""

from __future__ import annotations

from pipeline.useful_trials import Next, UsefulTrials


def text(useful: UsefulTrials) -> str:
    """What parts of the sweep would do, the trials of one, and what to train next."""
    lines = [] if not useful.choices else _choices(useful)
    if useful.done:
        lines += _next(useful)
    elif useful.choices:
        listed = useful.choices[useful.listed]
        lines.append(f"{listed.interval:.2f}x, the most useful first (--interval):")
        lines += [f"  {name}" for name in listed.trials]
    return "\n".join(lines) + "\n"


def _choices(useful: UsefulTrials) -> list[str]:
    more = "more" if useful.done else "trials"
    lines = [
        f"enough to predict {_goal(useful)} (--n, --p):",
        f"  {'interval':<10}{more:>12}{'cost':>8}{'law alone':>12}",
    ]
    for choice in useful.choices:
        count = f"{len(choice.trials)} of {useful.trials}"
        lines.append(
            f"  {f'{choice.interval:.2f}x':<10}{count:>12}"
            f"{f'{choice.cost_share:.0%}':>8}{f'{choice.law_interval:.2f}x':>12}"
        )
    return [
        *lines,
        f"interval: 95 %, of a newly trained model, over that after all "
        f"{useful.trials} trials,",
        f"+/- {useful.half_width:.2g} where seeds differ by {_noise(useful)}; law "
        "alone: without the noise of that model",
        "",
    ]


def _next(useful: UsefulTrials) -> list[str]:
    now = "a newly trained model is open yet (too few runs)"
    if useful.half_width_now is not None:
        now = (
            f"a newly trained model is +/- {useful.half_width_now:.4f}, of the law's "
            f"own value +/- {useful.law_half_width_now:.4f}"
        )
    lines = [
        f"{useful.done} runs are trained; at {_goal(useful)} the 95 % interval of",
        f"{now}, where seeds differ by {_noise(useful)}",
    ]
    if not useful.next:
        return [*lines, "every trial of the sweep is trained"]
    shown = [*useful.next, useful.most_telling] if useful.most_telling else useful.next
    width = max(len(one.trial) for one in shown)
    lines.append("train next, by what each tells for its cost:")
    lines += [_line(one, width) for one in useful.next]
    if useful.most_telling:
        lines.append("the most telling one, whatever it costs:")
        lines.append(_line(useful.most_telling, width))
    return lines


def _line(one: Next, width: int) -> str:
    return (
        f"  {one.trial:<{width}}  {one.cost:>6.1%} of what is spent, then +/- "
        f"{one.half_width:.4f}, {one.law_half_width:.4f}"
    )


def _goal(useful: UsefulTrials) -> str:
    at = "its mixtures"
    if len(useful.target_mixtures) == 1:
        at = useful.target_mixtures[0]
    return f"n = {useful.target_n:.3g} at {at}"


def _noise(useful: UsefulTrials) -> str:
    return ", ".join(dict.fromkeys(f"{sd:.2g}" for sd in useful.noise.values()))
