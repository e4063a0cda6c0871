"""YAML as people write it, and the mistakes they make in it."""

from __future__ import annotations

import pytest

from models.errors import UserError
from pipeline.yaml_text import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1_000_000),
        ("5E3", 5000),
        ("1_000", 1000),
        ("0123", 123),
        ("1.5e3", 1500.0),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("2.", 2.0),
        ("-3", -3),
        ("true", True),
        ("~", None),
        ("", None),
    ],
)
def test_numbers_and_words_are_what_they_look_like(text, value):
    parsed = parse(f"key: {text}", "f.yaml")["key"]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "12:30", "2026-01-02", "19M", "en-no", ".", "'1e6'"]
)
def test_other_words_stay_text(text):
    assert parse(f"key: {text}", "f.yaml")["key"] == text.strip("'")


def test_anchors_can_be_merged_and_overridden():
    text = "base: &base {a: 1, b: 2}\nother:\n  <<: *base\n  b: 3\n"
    assert parse(text, "f.yaml")["other"] == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3: the key 'a' is written twice"),
        ("a:\n  b: 1\n  b: 1", "f.yaml:3: the key 'b' is written twice"),
        ("a: {b: 1, b: 2}", "f.yaml:1: the key 'b' is written twice"),
        ("a: 1\nb: [1, 2", "f.yaml:2: expected ',' or ']'"),
        ("a:\n\tb: 1", "f.yaml:2: found character '\\t'"),
        ("a: 1\n b: 2", "f.yaml:2: mapping values are not allowed here"),
        ("? [1]\n: 2", "f.yaml:1: a key must be a plain word"),
        ("a: *b", "f.yaml:1: found undefined alias"),
        ("--- 1\n--- 2", "f.yaml:2: but found another document"),
        ("a: !!python/object:os.system x", "f.yaml:1: could not determine"),
        ("a: 1e9999", "f.yaml:1: the number 1e9999 is too large"),
        ("a: \x01", "f.yaml: not readable as YAML"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text, message):
    with pytest.raises(UserError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
