"""Test sets as they are loaded: every sentence, whatever its length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from components import tokenize
from components.artifacts import manifest
from components.artifacts.test_sets import LONGEST, load_test_sets
from components.artifacts.text_shards import shard_bytes
from models.errors import UserError


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """Tokens of a test set of 9 sentences: the third and the last fit in no row,
    and the sixth is longer than any that are evaluated."""
    base = tmp_path_factory.mktemp("tokens")
    words = {"en": "the small house by a river", "de": "das kleine Haus am Fluß"}
    rng = np.random.default_rng(2)

    def text(language, count):
        return " ".join(rng.choice(words[language].split(), count))

    lengths = [3, 5, 40, 2, 4, 2 * LONGEST, 6, 1, 33]
    records = [
        {"source": text("en", n), "target": text("de", n), "origin": origin}
        for n, origin in zip(lengths, ["source", "target", "target"] * 3, strict=True)
    ]
    train = [{"source": text("en", 4), "target": text("de", 4)} for _ in range(90)]
    folder = base / "ingest" / "en-de"
    folder.mkdir(parents=True)
    (folder / "train-00000-of-00001.jsonl.gz").write_bytes(shard_bytes(train))
    (folder / "news-00000-of-00001.jsonl.gz").write_bytes(shard_bytes(records))
    manifest.seal(
        base / "ingest", verb="ingest", config={}, inputs={}, counts={}, seconds=1.0
    )
    config = tokenize.Config(vocabulary_size=34, source_length=24, target_length=24)
    tokenize.run(
        config, ingest=base / "ingest", tasks=("en-de",), output=base / "tokenize"
    )
    return base / "tokenize"


def test_no_long_sentence_is_lost(tokens, caplog):
    (test_set,) = load_test_sets(tokens, ("en-de",))
    assert [pair.number for pair in test_set.long] == [2, 8]
    assert test_set.left_out == (5,)
    assert "1 sentences of more than 1024 tokens are not evaluated" in caplog.text
    assert test_set.numbers.tolist() == [0, 1, 2, 3, 4, 6, 7, 8]
    parts = test_set.parts()
    assert np.flatnonzero(parts["source"]).tolist() == [0, 3, 5]
    assert len(parts["target"]) == 8 and parts["target"].sum() == 5


def test_a_missing_sentence_is_noticed(tokens):
    for path in tokens.glob("dead_letters/*.gz"):
        content = path.read_bytes()
        path.unlink()
        try:
            with pytest.raises(UserError, match="6 sentences in the files, 9 expected"):
                load_test_sets(Path(tokens), ("en-de",))
        finally:
            path.write_bytes(content)
