"""The data card and its figure."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from types import SimpleNamespace

import pytest

from components import ingest, report
from components.artifacts.text_shards import read_shard, split_shards
from components.ingest import data_card
from components.ingest.cleaning.rules import Rules
from components.ingest.data_card import quantile
from components.ingest.graph import splits
from components.ingest.layout import LENGTH_ENDS
from components.report.data_card import draw_data_card
from components.report.plotting import NotDrawn
from tests.components.parallel_text import (
    TASKS,
    a_config,
    a_corpus,
    dead_letters,
    pairs_of,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    base = tmp_path_factory.mktemp("card")
    a_corpus(base, seed=4)
    output = base / "ingest"
    ingest.run(a_config(), base=base, tasks=TASKS, output=output)
    return output


def test_the_card_measures_what_is_in_the_shards(made):
    card = json.loads((made / "card.json").read_text(encoding="utf-8"))
    for task in TASKS:
        described = card["tasks"][task]
        assert set(described["splits"]) == {"train", "in_domain"}
        for split, measured in described["splits"].items():
            pairs = pairs_of(made, task, split)
            assert measured["pairs"] == len(pairs) > 0
            for side, texts in zip(
                ("source", "target"), zip(*pairs, strict=True), strict=True
            ):
                found = measured[side]
                assert found["characters"] == sum(map(len, texts))
                expected = Counter(
                    max(end for end in LENGTH_ENDS if end <= len(text))
                    for text in texts
                )
                assert {int(k): n for k, n in found["lengths"].items()} == expected
                letters = sum(character.isalpha() for t in texts for character in t)
                assert found["scripts"] == {"latin": letters}
        letters = Counter(letter["rule"] for letter in dead_letters(made, task))
        assert described["rejected"] == letters
        assert described["read"] == described["accepted"] + sum(letters.values())


def test_samples_are_pairs_of_the_shards_and_the_dead_letters(made):
    card = json.loads((made / "card.json").read_text(encoding="utf-8"))
    for task in TASKS:
        samples = card["tasks"][task]["samples"]
        train = set(pairs_of(made, task, "train"))
        drawn = [(pair["source"], pair["target"]) for pair in samples.pop("train")]
        assert len(set(drawn)) == 5 and set(drawn) <= train
        paths = split_shards(made / task, "in_domain")
        tested = [(r["source"], r["target"]) for p in paths for r in read_shard(p)]
        samples.pop("in_domain", None)
        assert not set(drawn) & set(tested)
        gone = dead_letters(made, task)
        for rule, pairs in samples.items():
            there = [(x["source"], x["target"]) for x in gone if x["rule"] == rule]
            assert 0 < len(pairs) <= 5
            assert {(p["source"], p["target"]) for p in pairs} <= set(there)
        assert set(samples) == {letter["rule"] for letter in gone}


def test_the_card_for_people_tells_every_task_and_rule(made):
    text = (made / "README.md").read_text(encoding="utf-8")
    card = json.loads((made / "card.json").read_text(encoding="utf-8"))
    for task, described in card["tasks"].items():
        assert f"| {task} | {described['read']:,} | {described['train']:,} |" in text
        for rule in described["rejected"]:
            assert f"### {task}: rejected as {rule}\n" in text
            assert f"\n| {rule} | " in text
    widths = {line.count(" | ") for line in text.splitlines() if line[:3] == "| e"}
    assert len(widths) >= 2


def test_quantiles_are_lower_ends_of_intervals():
    lengths = {"8": 1, "12": 80, "16": 19}
    assert [quantile(lengths, share) for share in (0.005, 0.5, 0.95)] == [8, 12, 16]
    assert quantile({}, 0.5) == 0


def test_the_figure_draws_every_task_and_rule(made):
    card = json.loads((made / "card.json").read_text(encoding="utf-8"))
    record = SimpleNamespace(card=card)
    left, right = draw_data_card(record, report.Config()).axes
    assert [t.get_text() for t in left.get_legend().get_texts()] == list(TASKS)
    rules = {rule for task in card["tasks"].values() for rule in task["rejected"]}
    labels = {label.get_text() for label in right.get_yticklabels()}
    assert labels == {rule.replace("_", " ") for rule in rules}
    widths = {round(bar.get_width(), 6) for bar in right.patches}
    described = card["tasks"]["en-de"]
    share = 100 * described["rejected"]["duplicate"] / described["read"]
    assert round(share, 6) in widths
    with pytest.raises(NotDrawn, match="no data card"):
        draw_data_card(SimpleNamespace(card={}), report.Config())


def test_the_card_says_what_every_rule_rejects():
    names = {field.name for field in dataclasses.fields(Rules)}
    names |= {*splits.REASONS} - {splits.TESTED}
    assert names <= set(data_card.MEANINGS)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (1, "100 %"),
        (0.1249, "12 %"),
        (0.0368, "3.7 %"),
        (0.00188, "0.19 %"),
        (1e-6, "< 0.01 %"),
    ],
)
def test_shares_have_the_digits_that_count(share, shown):
    assert data_card._percent(share) == shown


@pytest.mark.parametrize(
    ("start", "shown"), [(1, "1"), (3, "3"), (4, "4-5"), (16, "16-23"), (24, "24-31")]
)
def test_lengths_are_shown_as_the_intervals_they_are_counted_in(start, shown):
    assert data_card._interval(start) == shown
