"""The original language of held-out sentences, from what their source says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components import ingest, tokenize
from components.artifacts.test_sets import load_test_sets
from components.artifacts.text_shards import read_shard, split_shards
from components.artifacts.token_index import TokenIndex
from components.ingest.cleaning.rules import Rules
from components.ingest.config import Config, Corpus, TextTask
from components.ingest.sources.corpus import Columns

ORIGINS = {"en": "source", "de": "target", "fr": "mixed", "": "mixed"}


def write_documents(path: Path, first: int, count: int, origlang: str) -> None:
    """WMT's XML, one document."""
    sides = [
        "".join(
            f'<seg id="{i}">{text.format(i)}</seg>' for i in range(first, first + count)
        )
        for text in ("the {} goes", "das {} geht")
    ]
    path.write_text(
        f'<dataset><doc id="{path.stem}" origlang="{origlang}">'
        f'<src lang="en"><p>{sides[0]}</p></src><ref lang="de"><p>{sides[1]}</p></ref>'
        "</doc></dataset>",
        encoding="utf-8",
    )


def write_units(path: Path, first: int, count: int, srclang: str) -> None:
    units = "".join(
        f'<tu srclang="{srclang}"><tuv xml:lang="en"><seg>the {i} goes</seg></tuv>'
        f'<tuv xml:lang="de"><seg>das {i} geht</seg></tuv></tu>'
        for i in range(first, first + count)
    )
    path.write_text(f"<tmx><body>{units}</body></tmx>", encoding="utf-8")


def write_side(path: Path, first: int, count: int, text: str, head: str) -> None:
    """One side in SGM, ``head`` being the opening tag of its set."""
    segments = "".join(
        f'<seg id="{i}">{text.format(i)}</seg>\n' for i in range(first, first + count)
    )
    path.write_text(
        f'<{head}><doc docid="d" origlang="de">{segments}</doc></{head.split()[0]}>',
        encoding="utf-8",
    )


def write_lines(base: Path, first: int, count: int) -> None:
    for side, text in (("en", "the {} goes"), ("de", "das {} geht")):
        lines = [text.format(i) for i in range(first, first + count)]
        (base / f"plain.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(base: Path, output: str, task: TextTask, **options) -> list[dict]:
    """The held-out records of one task."""
    settings = {"rules": Rules(misaligned=None), "test_sentences": 120, "shards": 3}
    config = Config(source="text", text={"en-de": task}, **{**settings, **options})
    ingest.run(config, base=base, tasks=("en-de",), output=base / output)
    for path in split_shards(base / output / "en-de", "train"):
        assert all(set(record) == {"source", "target"} for record in read_shard(path))
    (path,) = split_shards(base / output / "en-de", "in_domain")
    return list(read_shard(path))


def number(record: dict) -> int:
    return int(record["source"].split()[1])


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, list[dict]]:
    """Six corpora of 60 pairs each, pair i with sentences of their own."""
    base = tmp_path_factory.mktemp("origins")
    write_documents(base / "a.xml", 0, 60, "en")
    write_units(base / "b.tmx", 60, 60, "de-AT")
    write_units(base / "c.tmx", 120, 60, "fr")
    write_side(base / "d.en.sgm", 180, 60, "the {} goes", 'srcset srclang="en"')
    write_side(base / "d.de.sgm", 180, 60, "das {} geht", 'refset trglang="de"')
    rows = [
        {"en": f"the {i} goes", "de": f"das {i} geht", "from": "en" if i % 2 else "de"}
        for i in range(240, 300)
    ]
    (base / "e.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_lines(base, 300, 60)
    corpora = [
        Corpus(files="[abc].*"),
        Corpus("d.en.sgm", "d.de.sgm"),
        Corpus(files="e.jsonl", columns=Columns(origin="from")),
        Corpus("plain.en", "plain.de"),
    ]
    return base, run(base, "ingest", TextTask(corpora=tuple(corpora)))


def language_of(i: int) -> str:
    if i < 240:
        return ("en", "de", "fr", "de")[i // 60]
    return ("en" if i % 2 else "de") if i < 300 else ""


def test_held_out_sentences_keep_what_their_source_says(made):
    _, records = made
    assert len(records) == 120
    for record in records:
        assert record["origin"] == ORIGINS[language_of(number(record))]
    assert {number(record) // 60 for record in records} == set(range(6))


def test_they_are_evaluated_as_halves_too(made):
    base, records = made
    tokens = base / "tokens"
    rows = tokenize.Config(vocabulary_size=50, source_length=48, target_length=48)
    tokenize.run(rows, ingest=base / "ingest", tasks=("en-de",), output=tokens)
    assert TokenIndex.load(tokens).training_rows("en-de")
    (test_set,) = load_test_sets(tokens, ("en-de",))
    parts = {origin: int(own.sum()) for origin, own in test_set.parts().items()}
    halves = [record["origin"] for record in records]
    assert parts == {
        "mixed": 120,
        "source": halves.count("source"),
        "target": halves.count("target"),
    }
    assert min(parts.values()) > 15


def test_a_set_of_one_origin_is_reported_whole(made):
    """Then ``in_domain`` is the same thing for every task."""
    base, _ = made
    assert all(
        set(record) == {"source", "target"}
        for record in run(base, "one", TextTask(files="a.xml"), test_sentences=20)
    )


def test_the_order_of_files_does_not_matter(made):
    base, records = made
    corpora = [
        Corpus("plain.en", "plain.de"),
        Corpus(files="e.jsonl", columns=Columns(origin="from")),
        Corpus("d.en.sgm", "d.de.sgm"),
        Corpus(files="c.tmx"),
        Corpus(files="b.tmx"),
        Corpus(files="a.xml"),
    ]
    task = TextTask(corpora=tuple(corpora))
    assert run(base, "turned", task) == records
    turned = split_shards(base / "turned" / "en-de", "train")
    first = split_shards(base / "ingest" / "en-de", "train")
    assert [p.read_bytes() for p in turned] == [p.read_bytes() for p in first]
