"""When trials are evaluated; the final and the best loss of a curve."""

import dataclasses

import pytest

from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial_folder import LossAtStep
from components.train.config import Config
from components.train.curves import (
    best_losses,
    evaluation_steps,
    final_losses,
    is_final,
)

WHOLE = MetricsRow(
    trial="t", cohort="en-xx", size="2k", seed=0, task="en-de", p=0.3,
    mixture="en-de=0.3,en-fr=0.7", test_set="in_domain", n=3, n_enc=1, n_dec=2,
    n_embedding=5, step=0, loss=0.0, loss_kind="curve",
)  # fmt: skip


def row(step, loss, **changes):
    return dataclasses.replace(WHOLE, step=step, loss=loss, **changes)


CURVE = [
    *(
        row(step, loss)
        for step, loss in ((200, 3.0), (860, 0.5), (900, 0.7), (920, 2.0), (940, 2.5))
    ),
    row(940, 0.1, origin="source"),  # half of the test set
    *(row(step, loss) for step, loss in ((960, 2.2), (980, 9.0), (1000, 2.3))),
    *(row(step, 7.0 - step / 1000, task="en-fr") for step in (200, 960, 1000)),
]


def config(**changes):
    return Config(**{"sizes": ("2k",), "mixtures": (0.3,), **changes})


def test_evaluations_halve_back_from_the_end():
    steps = evaluation_steps(config(evaluations=7, final_evaluations=4), 3000)
    assert steps[-1] == 3000
    for whole in (1500, 750, 380):
        assert whole in steps
    assert all(step % 10 == 0 for step in steps)
    final = [step for step in steps if is_final(step, 3000)]
    assert final == [2780, 2850, 2930, 3000]


def test_a_very_short_trial_is_still_evaluated():
    assert evaluation_steps(config(evaluations=3), 10) == (10,)


def test_the_final_loss_is_the_median_over_the_last_tenth():
    """Steps 920 to 1000 of 1000: not 900, which ends the nine tenths before."""
    finals = final_losses(CURVE, 1000)
    assert finals == {
        "final/en-de/in_domain": 2.3,
        "final/en-fr/in_domain": pytest.approx(6.02),
    }


def test_the_best_loss_is_of_a_whole_test_set_wherever_it_was():
    assert best_losses(CURVE) == {
        "en-de/in_domain": LossAtStep(860, 0.5),
        "en-fr/in_domain": LossAtStep(1000, 6.0),
    }
    assert best_losses([]) == {}
