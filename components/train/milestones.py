"""At which steps a trial is evaluated."""

from __future__ import annotations

import math

from components.train.config import Config

FINAL_SHARE = 0.1


def evaluation_steps(config: Config, steps: int) -> tuple[int, ...]:
    """Steps after which the test loss is measured, increasing, the last is ``steps``.

    Half-octaves back from the end, so that the movement over the last doubling is
    measured and not interpolated, and ``final_evaluations`` steps spread over the
    last tenth, over which the final loss is the median ([N] section 2.1).
    """
    call = config.steps_per_call

    def rounded(step: float) -> int:
        return max(call, round(step / call) * call)

    octaves = {
        rounded(steps * 2 ** (-index / 2)) for index in range(config.evaluations)
    }
    count = config.final_evaluations
    first = steps * (1 - FINAL_SHARE)
    final = {
        min(steps, math.ceil((first + (steps - first) * index / count) / call) * call)
        for index in range(1, count + 1)
    }
    return tuple(sorted(octaves | final | {steps}))


def is_final(step: int, steps: int) -> bool:
    """Whether a step lies in the last tenth of training."""
    return step > steps * (1 - FINAL_SHARE)
