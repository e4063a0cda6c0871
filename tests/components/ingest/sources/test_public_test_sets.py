"""Test sets by name, through sacrebleu's own files, without a network."""

from __future__ import annotations

from pathlib import Path
from urllib.error import URLError

import pytest
from sacrebleu.dataset import DATASETS
from sacrebleu.dataset import base as sacrebleu_base

from components import ingest
from components.artifacts.text_shards import read_shard
from components.ingest.config import TextTask, TextTestSet
from components.ingest.sources import places
from models.errors import UserError

LINES = {
    "src": ["The river flows.", "A house stands by the lake.", "They sing loudly."],
    "ref": ["Der Fluss strömt.", "Ein Haus steht am See.", "Sie singen laut."],
    "origlang": ["en", "de", "en"],
    "docid": ["a", "a", "b"],
    "genre": ["news"] * 3,
}


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    """A folder of sacrebleu in which it has wmt19 already."""
    folder = tmp_path / "sacrebleu" / "wmt19"
    folder.mkdir(parents=True)
    monkeypatch.setattr(DATASETS["wmt19"], "_outdir", str(folder))
    monkeypatch.setattr(DATASETS["wmt19"], "_rawdir", str(folder / "raw"))
    for field, lines in LINES.items():
        path = folder / f"wmt19.en-de.{field}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def test_a_name_in_an_experiment_is_a_test_set_with_origins(kept, tmp_path):
    train = [(f"Sentence {k} of {k * k}.", f"Satz {k} von {k * k}.") for k in range(60)]
    for side, lines in zip(("en", "de"), zip(*train, strict=True), strict=True):
        text = "\n".join([*lines, LINES["src" if side == "en" else "ref"][0]]) + "\n"
        (tmp_path / f"train.{side}").write_text(text, encoding="utf-8")
    name = "sacrebleu:wmt19/en-de"
    news = TextTestSet(
        source=f"{name}/source", target=f"{name}/target", origin=f"{name}/origin"
    )
    task = TextTask(
        source="train.en", target="train.de", test_sets={"newstest2019": news}
    )
    config = ingest.Config(source="text", text={"en-de": task}, test_sentences=5)
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=tmp_path / "ingest")
    (shard,) = (tmp_path / "ingest" / "en-de").glob("newstest2019-*")
    found = [(r["source"], r["target"], r["origin"]) for r in read_shard(shard)]
    origins = ["source", "target", "source"]
    assert found == list(zip(LINES["src"], LINES["ref"], origins, strict=True))
    trained = {
        record["source"]
        for path in (tmp_path / "ingest" / "en-de").glob("train-*")
        for record in read_shard(path)
    }
    assert LINES["src"][0] not in trained and len(trained) > 40


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wmt19/en-de", "expected sacrebleu:TEST_SET/PAIR/SIDE"),
        ("wmt91/en-de/source", "no test set wmt91; did you mean .*wmt19"),
        ("wmt19/en-dd/source", "wmt19 has no pair en-dd; did you mean .*en-de"),
        ("wmt19/en-de/ref:B", "wmt19 en-de has no ref:B, only src, ref, docid"),
    ],
)
def test_a_name_that_is_none(kept, name, message):
    with pytest.raises(UserError, match=f"^here: sacrebleu:{name}: .*{message}"):
        places.expand("here", f"sacrebleu:{name}", Path())


@pytest.mark.parametrize("error", [URLError("no network"), SystemExit(1)])
def test_without_a_network_it_says_what_to_do(kept, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(sacrebleu_base, "download_file", fail)
    with pytest.raises(UserError, match="cannot be downloaded .*sacrebleu -t wmt19 -l"):
        places.expand("here", "sacrebleu:wmt19/de-en/source", kept)
