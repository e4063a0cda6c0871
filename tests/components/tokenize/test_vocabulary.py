"""The vocabulary: trained here or elsewhere, and text to ids with it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import sentencepiece

from components import tokenize
from components.artifacts.token_rows import load_rows
from components.tokenize import vocabulary as vocabularies
from components.tokenize.config import Config
from components.tokenize.vocabulary import UNKNOWN, Vocabulary, target_tags
from models.errors import UserError
from tests.components.tokenize.small_ingest import TASKS, records_of, write_ingest

TEXTS = {
    "en": ["the small house", "the river goes by a mountain", "it’s the house"] * 30,
    "zh": ["这小房子。", "河流去旁边。", "一山绿色。"] * 30,
}


@pytest.fixture(scope="module")
def ingest(tmp_path_factory) -> Path:
    return write_ingest(tmp_path_factory.mktemp("ingest"))


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
    rows = load_rows(output, "en-zh", "train").shards[0]
    assert set(rows["source_ids"][:, 0]) == {vocabulary.tag_id("<2zh>")}
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


def test_tags_tell_target_languages_apart():
    assert target_tags(("en-de", "en-fr", "zh-fr")) == {
        "en-de": "<2de>",
        "en-fr": "<2fr>",
        "zh-fr": "<2fr>",
    }
    assert target_tags(("de-en", "zh-en")) == {"de-en": None, "zh-en": None}


def test_bytes_stand_for_characters_the_vocabulary_lacks():
    plain = Vocabulary(vocabularies.train(Config(vocabulary_size=36), TEXTS, ["<2zh>"]))
    flat, _ = plain.encode(["the 🙂 house"])
    assert UNKNOWN in flat
    config = Config(vocabulary_size=293, byte_fallback=True)
    vocabulary = Vocabulary(vocabularies.train(config, TEXTS, ["<2zh>"]))
    flat, lengths = vocabulary.encode(["the 🙂 house", "河"], tag="<2zh>")
    assert UNKNOWN not in flat
    assert vocabulary.decode(flat[: lengths[0]]) == "the 🙂 house"
    assert vocabulary.decode(flat[lengths[0] :]) == "河"
    house = vocabulary.encode(["the house"])[0]
    assert vocabulary.byte_pieces[flat].sum() == 4  # of the emoji
    assert not vocabulary.byte_pieces[house].any()


TOO_SMALL = "vocabulary_size: {} is fewer than the text has characters; enlarge it"
COVERAGE = " or lower tokenize.character_coverage"
BYTES = " or set tokenize.byte_fallback: true"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary_size": 5000}, r"5000 is more than .*at most \d+ here$"),
        ({"vocabulary_size": 20}, TOO_SMALL.format(20) + COVERAGE + BYTES + "$"),
        (
            {"vocabulary_size": 270, "byte_fallback": True},
            TOO_SMALL.format(270) + COVERAGE + "$",
        ),
        (
            {"vocabulary_size": 12, "character_coverage": 0.98},
            TOO_SMALL.format(12) + BYTES + "$",
        ),
    ],
)
def test_a_vocabulary_that_does_not_suit_the_text_is_explained(options, message):
    """No option is advised that is already set."""
    with pytest.raises(UserError, match=message):
        vocabularies.train(Config(**options), TEXTS, ())
