"""``--set``: what it can express and how it says no."""

from __future__ import annotations

import pytest

from models.errors import UserError
from pipeline import overrides

TREE = {"name": "x", "train": {"steps": 5, "sizes": ["2k"]}, "fit": None}


def test_values_are_yaml_and_the_last_one_wins():
    changed = overrides.apply(
        TREE,
        [
            "train.steps=1e3",
            "train.steps=2e3",
            "train.sizes=[5k, 9k]",
            "train.mixtures=[{en-de: 0.3, en-fr: 0.7}]",
            "fit.held_out.sizes=[9k]",
            "ingest.text.en-de.source=a=b.txt",
        ],
    )
    assert changed == {
        "name": "x",
        "train": {
            "steps": 2000,
            "sizes": ["5k", "9k"],
            "mixtures": [{"en-de": 0.3, "en-fr": 0.7}],
        },
        "fit": {"held_out": {"sizes": ["9k"]}},
        "ingest": {"text": {"en-de": {"source": "a=b.txt"}}},
    }
    assert TREE["train"]["steps"] == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train.steps", "--set train.steps: expected section.key=value"),
        ("=3", "--set =3: expected section.key=value"),
        ("train..steps=3", "--set train..steps=3: expected section.key=value"),
        ("train.steps=[3", "--set train.steps=[3:1: expected ',' or ']'"),
        ("name.first=3", "--set name.first=3: name is not a section but 'x'"),
    ],
)
def test_a_malformed_override_is_said_to_be_one(text, message):
    with pytest.raises(UserError) as caught:
        overrides.apply(TREE, [text])
    assert str(caught.value).startswith(message)


def test_a_value_is_traced_back_to_its_override():
    texts = ["train.sizes=[2k]", "fit={}"]
    assert overrides.is_overridden("train.sizes[0]", texts)
    assert overrides.is_overridden("fit.draws", texts)
    assert not overrides.is_overridden("train.sizes_by", texts)
