"""Options of ``select`` out of range."""

from __future__ import annotations

import pytest

from components import select
from components.ingest.config import TextTask
from components.select.config import Contrastive
from models.errors import FieldError

TRUSTED = {"en-de": TextTask("trusted.en", "trusted.de")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 0.0}, "keep: 0 must lie in"),
        ({"keep": {"en-de": 1.2}}, "keep.en-de: 1.2 must lie in"),
        ({"keep": float("nan")}, "keep: nan must lie in"),
        ({"sample": 99}, "sample: 99 must be at least 100"),
        ({"iterations": 0}, "iterations: 0 must lie in"),
        ({"seed": -1}, "seed: -1 must lie in"),
        ({"beam_options": ("direct",)}, "beam_options: 'direct' is not an option"),
    ],
)
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(FieldError) as caught:
        select.Config(**options)
    assert message in f"{caught.value.field}: {caught.value.problem}"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trusted": {}, "in_domain": {}}, "trusted: missing; expected task: "),
        ({"steps": 0}, "steps: 0 must be at least 1"),
        ({"warmup_steps": 61}, "warmup_steps: 61 is more than the 60 steps"),
        ({"tuning_rate": 0.0}, "tuning_rate: 0 must be positive"),
        ({"tuning_epochs": 0}, "tuning_epochs: 0 must be at least 1"),
    ],
)
def test_a_wrong_option_of_the_contrastive_score_is_refused(changed, message):
    with pytest.raises(FieldError) as caught:
        Contrastive(**{"trusted": TRUSTED, "steps": 60, "warmup_steps": 10} | changed)
    assert message in str(caught.value)
