"""What COMET is asked and what becomes of its answer.

The package cannot be installed beside TensorFlow, so a stand-in answers for it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import types

import pytest

from components.evaluate.comet import Comet
from components.evaluate.translation import Sentence, Translation
from models.errors import UserError


class StandIn:
    """Scores by the share of the hypothesis' words that the reference has."""

    def __init__(self):
        self.asked = []

    def predict(self, records, batch_size, gpus):
        self.asked += records
        scores = []
        for record in records:
            words = record["mt"].split()
            hits = sum(word in record["ref"].split() for word in words)
            scores.append(hits / max(len(words), 1))
        return types.SimpleNamespace(scores=scores)


@pytest.fixture
def model(monkeypatch):
    model = StandIn()
    package = types.ModuleType("comet")
    package.download_model = lambda name: f"/models/{name}"
    package.load_from_checkpoint = {"/models/known": model}.__getitem__
    package.__spec__ = importlib.util.spec_from_loader("comet", None)
    monkeypatch.setitem(sys.modules, "comet", package)
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata,
        "version",
        lambda name: "2.2.4" if name == "unbabel-comet" else version(name),
    )
    return model


def test_every_reference_is_asked_and_the_best_counts(model):
    sentences = (
        Sentence("s1", ("a b", "c d"), "source", "c d"),
        Sentence("s2", ("e f",), "target", "e x"),
    )
    scores = Comet("known").score(Translation("en-de", "x", sentences))
    assert [(r["src"], r["mt"], r["ref"]) for r in model.asked] == [
        ("s1", "c d", "a b"), ("s1", "c d", "c d"), ("s2", "e x", "e f"),
    ]  # fmt: skip
    assert scores.by_sentence.tolist() == [1.0, 0.5]
    assert scores.values == {"mixed": 0.75, "source": 1.0, "target": 0.5}
    assert scores.signatures["mixed"] == "model:known|refs:max|version:2.2.4"


def test_an_unknown_model_is_said(model):
    with pytest.raises(UserError, match="nobody cannot be loaded"):
        Comet("nobody")
