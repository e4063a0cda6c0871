"""What the vocabulary is trained on."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from components.tokenize import vocabulary_text
from components.tokenize.vocabulary_text import pairs_of_tasks, read
from tests.components.tokenize.small_ingest import (
    SIZES,
    TASKS,
    records_of,
    write_ingest,
)

COUNTS = {task: sum(SIZES[task]) for task in TASKS}


@pytest.fixture(scope="module")
def ingest(tmp_path_factory) -> Path:
    return write_ingest(tmp_path_factory.mktemp("ingest"))


def test_the_worked_example_of_the_docstring():
    failed, tried = doctest.testmod(vocabulary_text)
    assert (failed, tried) == (0, 2)


def test_every_language_gives_as_many_sentences(ingest):
    texts = read(ingest, COUNTS, 80, None)
    assert {language: len(found) for language, found in texts.items()} == {
        "de": 80,
        "en": 80,
        "zh": 80,
    }
    first = [records_of(task)[0][i]["source"] for i in range(40) for task in TASKS]
    assert texts["en"] == first
    everything = read(ingest, COUNTS, 10**6, None)
    assert {len(found) for found in everything.values()} == {100}


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_a_temperature_shares_the_sentences_among_the_tasks(ingest, temperature):
    texts = read(ingest, COUNTS, 50, temperature)
    weights = [sum(SIZES[task]) ** (1 / temperature) for task in TASKS]
    expected = [100 * weight / sum(weights) for weight in weights]
    assert [len(texts["de"]), len(texts["zh"])] == pytest.approx(expected, abs=0.51)
    assert len(texts["en"]) == len(texts["de"]) + len(texts["zh"])
    assert texts["zh"] == [
        record["target"] for record in records_of("en-zh")[0][: len(texts["zh"])]
    ]
    assert texts["de"] == [
        record["target"] for record in records_of("en-de")[0][: len(texts["de"])]
    ]


def test_a_task_gives_no_more_than_it_has():
    counts = {"en-de": 10**6, "en-zh": 30}
    assert pairs_of_tasks(counts, 1000, 100.0)["en-zh"] == 30
    assert pairs_of_tasks(counts, 1000, 1.0)["en-zh"] == 1
