"""Small twins of experiments: what they keep and what they cut."""

from __future__ import annotations

import pytest

from models.nmt.sizes import LADDER
from pipeline import experiment, steps
from pipeline.experiment import SHIPPED
from pipeline.small import small


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda p: p.stem)
def test_a_twin_keeps_the_study_and_cuts_its_cost(path):
    whole = experiment.load(path)
    twin = small(whole)
    assert twin.name == f"{whole.name}_small"
    assert (twin.tasks, twin.cohort, twin.fit.laws) == (
        whole.tasks, whole.cohort, whole.fit.laws,
    )  # fmt: skip
    assert twin.train.mixtures == whole.train.mixtures
    assert bool(twin.fit.held_out.sizes) == bool(whole.fit.held_out.sizes)
    assert [s.verb for s in steps.of(twin)] == [s.verb for s in steps.of(whole)]
    assert twin.train.steps < 100


def test_depths_stay_depths_and_sizes_keep_their_order():
    depths = small(experiment.load(SHIPPED / "en_de_depths.yaml"))
    assert {"2L6L@2k", "6L8L@2k", "3L3L@2k"} <= set(depths.train.sizes)
    assert "6L28L@2k" not in depths.train.sizes
    paper = small(experiment.load(SHIPPED / "en_de_fr.yaml"))
    assert paper.train.sizes == tuple(shape.name for shape in LADDER[:8])
    assert [step.verb for step in steps.of(depths)][-2:] == ["fit", "report"]
