"""What the vocabulary is trained on, and vocabularies that are there already."""

from __future__ import annotations

import io
import random
import statistics
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from components import tokenize
from components.artifacts.text_shards import shard_bytes
from components.engines import beam_runner
from components.tokenize import reservoir
from components.tokenize.reader import load_index, load_split
from components.tokenize.vocabulary import Vocabulary
from models.errors import FieldError, UserError

TASKS = ("en-de", "en-zh")
SIZES = {"en-de": (500, 400), "en-zh": (60, 40)}


def text(task: str, number: int) -> dict[str, str]:
    rng = random.Random(f"{task} {number}")
    words = [
        f"{rng.choice('bdfg')}{rng.choice('aeiou')}" for _ in range(1 + number % 9)
    ]
    joined = " ".join(words)
    return {"source": f"{joined} {number}", "target": f"{joined.upper()} {task[-2:]}"}


def records_of(task: str) -> list[list[dict[str, str]]]:
    first, second = SIZES[task]
    numbers = range(first), range(first, first + second)
    return [[text(task, number) for number in part] for part in numbers]


@pytest.fixture(scope="module")
def ingest(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ingest")
    for task in TASKS:
        (folder / task).mkdir()
        for index, records in enumerate(records_of(task)):
            path = folder / task / f"train-0000{index}-of-00002.jsonl.gz"
            path.write_bytes(shard_bytes(records))
    (folder / "manifest.json").write_text(
        '{"verb": "ingest", "key": "0", "inputs": {}, "config": {}, "packages": {}, '
        '"counts": {}, "seconds": 1}'
    )
    return folder


def drawn(ingest: Path, folder: Path, sentences: int, temperature: float | None):
    most = reservoir.most_of_a_task(sentences, TASKS, temperature)
    with beam_runner.pipeline(()) as pipeline:
        reservoir.build(pipeline, ingest, TASKS, most, str(folder))
    return reservoir.sentences_of(folder, TASKS, sentences, temperature)


def test_every_language_gives_as_many_sentences(ingest, tmp_path):
    texts = drawn(ingest, tmp_path / "some", 80, None)
    assert {language: len(found) for language, found in texts.items()} == {
        "de": 80,
        "en": 80,
        "zh": 80,
    }
    first = [records_of(task)[0][i]["source"] for i in range(40) for task in TASKS]
    assert texts["en"] == first
    everything = drawn(ingest, tmp_path / "all", 10**6, None)
    assert {len(found) for found in everything.values()} == {100}


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_a_temperature_shares_the_sentences_among_the_tasks(
    ingest, tmp_path, temperature
):
    texts = drawn(ingest, tmp_path, 50, temperature)
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
    assert reservoir.pairs_of_tasks(counts, 1000, 100.0)["en-zh"] == 30
    assert reservoir.pairs_of_tasks(counts, 1000, 1.0)["en-zh"] == 1


def a_model(ingest: Path, path: Path, tags: list[str], **options) -> int:
    """Trains a model as somebody else would; returns its size."""
    lines = [
        line
        for task in TASKS
        for part in records_of(task)
        for record in part
        for line in record.values()
    ]
    model = io.BytesIO()
    settings = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=70,
        user_defined_symbols=tags,
        minloglevel=2,
        **settings,
    )
    path.write_bytes(model.getvalue())
    return 70


def test_an_existing_model_is_used_as_it_is(ingest, tmp_path):
    size = a_model(ingest, tmp_path / "mine.model", ["<2de>", "<2zh>"])
    config = tokenize.Config(vocabulary_size=size, model="mine.model")
    output = tmp_path / "tokenize"
    options = {"ingest": ingest, "tasks": TASKS, "output": output, "base": tmp_path}
    tokenize.run(config, **options)
    mine = (tmp_path / "mine.model").read_bytes()
    assert (output / "vocabulary.model").read_bytes() == mine
    vocabulary = Vocabulary.load(output)
    rows = load_split(output, "en-zh", "train")
    firsts = (rows["source_positions"] == 0) & (rows["source_segments"] > 0)
    assert set(rows["source_ids"][firsts]) == {vocabulary.tag_id("<2zh>")}
    before = (output / "manifest.json").read_text()
    a_model(ingest, tmp_path / "mine.model", ["<2de>", "<2zh>"], model_type="bpe")
    tokenize.run(config, **options)
    assert (output / "manifest.json").read_text() != before


@pytest.mark.parametrize(
    ("tags", "options", "size", "message"),
    [
        (["<2de>"], {}, 70, r"no piece <2zh>, by which .* user_defined_symbols"),
        (["<2de>", "<2zh>"], {}, 71, r"vocabulary_size: 71, but .* has 70 pieces"),
        (["<2de>", "<2zh>"], {"bos_id": 1, "eos_id": 3}, 70, r"at \(0, 3, 2\); exp"),
    ],
)
def test_a_model_that_lacks_something_is_refused_before_any_work(
    ingest, tmp_path, tags, options, size, message
):
    a_model(ingest, tmp_path / "other.model", tags, **options)
    config = tokenize.Config(vocabulary_size=size, model="other.model")
    with pytest.raises(UserError, match=message):
        tokenize.run(
            config, ingest=ingest, tasks=TASKS, output=tmp_path / "t", base=tmp_path
        )
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("content", [None, b"", b"no model at all"])
def test_what_is_no_model_is_said(ingest, tmp_path, content):
    if content is not None:
        (tmp_path / "x.model").write_bytes(content)
    config = tokenize.Config(model="x.model")
    with pytest.raises(UserError, match=r"x\.model is not a SentencePiece model"):
        tokenize.run(
            config, ingest=ingest, tasks=TASKS, output=tmp_path / "t", base=tmp_path
        )


def test_the_index_tells_lengths(ingest, tmp_path):
    config = tokenize.Config(vocabulary_size=70, source_length=12, temperature=2.0)
    output = tmp_path / "tokenize"
    tokenize.run(config, ingest=ingest, tasks=TASKS, output=output)
    vocabulary = Vocabulary.load(output)
    for task in TASKS:
        described = load_index(output)["tasks"][task]
        records = [record for part in records_of(task) for record in part]
        for side, tag in (("source", described["tag"]), ("target", None)):
            _, lengths = vocabulary.encode([record[side] for record in records], tag)
            told = described["splits"]["train"][f"{side}_lengths"]
            assert told["mean"] == pytest.approx(lengths.mean(), abs=0.006)
            assert told["median"] == statistics.median_low(lengths.tolist())
            assert told["longest"] == lengths.max() > 12
            ordered = np.sort(lengths)
            assert told["p95"] == ordered[int(np.ceil(0.95 * len(ordered))) - 1]


def test_a_temperature_below_one_is_a_field_error():
    with pytest.raises(FieldError):
        tokenize.Config(temperature=0.5)
