"""From plain values to dataclasses: every kind of field, every kind of mistake."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import pytest

from models.errors import FieldError, UserError
from pipeline import loader


@dataclasses.dataclass(frozen=True)
class Rules:
    max_tokens: int = 100
    ratio: float = 2.5

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise FieldError("max_tokens", f"{self.max_tokens} must be at least 1")
        if self.ratio > 99:
            raise UserError("no sentence is that long")


@dataclasses.dataclass(frozen=True)
class Section:
    sizes: tuple[str, ...]
    steps: int
    rate: float = 0.5
    law: Literal["linear", "flexible"] = "linear"
    share: float | None = None
    deterministic: bool = False
    mixtures: tuple[float | Mapping[str, float], ...] = ()
    steps_by_size: Mapping[str, int] = dataclasses.field(default_factory=dict)
    rules: Rules = Rules()
    rules_by_task: Mapping[str, Rules] = dataclasses.field(default_factory=dict)
    budget: Literal["auto"] | int = "auto"


@dataclasses.dataclass(frozen=True)
class File:
    name: str
    train: Section


def section(**changes: object) -> dict:
    return {"name": "x", "train": {"sizes": ["2k"], "steps": 10, **changes}}


def test_every_kind_of_field():
    built = loader.build(
        File,
        section(
            rate=2,
            law="flexible",
            share=0.25,
            deterministic=True,
            mixtures=[0.3, {"en-de": 1, "en-fr": 0}],
            steps_by_size={"2k": 5},
            rules={"max_tokens": 7},
            rules_by_task={"en-de": {"ratio": 3}},
            budget=12,
        ),
    )
    assert built.train == Section(
        sizes=("2k",),
        steps=10,
        rate=2.0,
        law="flexible",
        share=0.25,
        deterministic=True,
        mixtures=(0.3, {"en-de": 1.0, "en-fr": 0.0}),
        steps_by_size={"2k": 5},
        rules=Rules(max_tokens=7),
        rules_by_task={"en-de": Rules(ratio=3.0)},
        budget=12,
    )
    assert type(built.train.rate) is float
    assert type(built.train.mixtures[1]["en-de"]) is float


def test_what_is_left_out_or_empty_has_its_default():
    built = loader.build(File, section(rules=None, share=None))
    assert built.train == Section(sizes=("2k",), steps=10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stepps": 1}, "train.stepps: unknown key; did you mean train.steps?"),
        ({"determinist": 1}, "did you mean train.deterministic?"),
        ({"ratio": 1}, "train.ratio: unknown key; did you mean train.rules.ratio?"),
        ({"xyzzy": 1}, "train.xyzzy: unknown key (known: sizes, steps, rate"),
        ({"steps": 1.5}, "train.steps: expected a whole number, found 1.5"),
        ({"steps": "ten"}, "train.steps: expected a whole number, found 'ten'"),
        ({"steps": True}, "train.steps: expected a whole number, found true"),
        ({"steps": None}, "train.steps: expected a whole number, found nothing"),
        ({"steps": [1]}, "train.steps: expected a whole number, found a list of 1"),
        ({"rate": "fast"}, "train.rate: expected a number, found 'fast'"),
        ({"rate": True}, "train.rate: expected a number, found true"),
        ({"rate": float("nan")}, "train.rate: expected a finite number, found nan"),
        ({"rate": 10**400}, "train.rate: expected a finite number, found inf"),
        ({"share": "a"}, "train.share: expected a number, found 'a'"),
        ({"deterministic": 1}, "train.deterministic: expected true or false, found 1"),
        ({"deterministic": "no"}, "expected true or false, found 'no'"),
        (
            {"law": "linaer"},
            "train.law: expected one of linear, flexible, found 'linaer'; did you "
            "mean linear?",
        ),
        ({"law": 3}, "train.law: expected one of linear, flexible, found 3"),
        ({"sizes": "2k"}, "train.sizes: expected a list, each item text, found '2k'; "
                          "write [2k]"),
        ({"sizes": ["2k", 64]}, "train.sizes[1]: expected text, found 64; put it in"),
        ({"mixtures": [0.1, "x"]}, "train.mixtures[1]: expected a number or a mapping"),
        ({"mixtures": [{"en-de": "x"}]}, "train.mixtures[0].en-de: expected a number"),
        ({"steps_by_size": {64: 1}}, "train.steps_by_size.64: the key 64 is not text"),
        ({"steps_by_size": [1]}, "expected a mapping of name: a whole number, found"),
        ({"rules": 3}, "train.rules: expected a section of `key: value`, found 3"),
        ({"rules": {"max_tokens": 0}}, "train.rules.max_tokens: 0 must be at least 1"),
        ({"rules": {"ratio": 100}}, "train.rules: no sentence is that long"),
        (
            {"rules_by_task": {"en-de": {"max_tokens": 0}}},
            "train.rules_by_task.en-de.max_tokens: 0 must be at least 1",
        ),
        ({"budget": "aut"}, "train.budget: expected one of auto or a whole number"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_key_what_was_given_and_what_is_allowed(change, message):
    with pytest.raises(FieldError) as caught:
        loader.build(File, section(**change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named_with_what_is_expected():
    with pytest.raises(FieldError, match=r"train\.steps: missing; expected a whole"):
        loader.build(File, {"name": "x", "train": {"sizes": ["2k"]}})
    with pytest.raises(FieldError, match=r"train: missing; expected a section with"):
        loader.build(File, {"name": "x"})


def test_a_section_elsewhere_is_suggested_by_its_full_path():
    with pytest.raises(FieldError, match=r"steps: unknown key; did you mean train\.st"):
        loader.build(File, {"name": "x", "steps": 3})
