"""Whatever stands in a file: pairs, or one line that says what is wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.ingest.cleaning.repair import repair
from components.ingest.sources import reading, text_files
from components.ingest.sources.corpus import Corpus
from components.ingest.sources.formats import READERS
from components.ingest.sources.inputs import TextInput
from models.errors import UserError

FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WHOLE = {
    "tsv": b'en\tde\na\tb\n"c\td"\n',
    "csv": b'en,de\n"a, ""b""","c\nd"\ne,f\n',
    "jsonl": b'{"en": "a\\n\\ud83d\\ude00", "de": "b"}\n{"en": null, "de": 1}\n',
    "tmx": (
        b'<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a<ph>x</ph>b'
        b'</seg></tuv><tuv xml:lang="de"><seg>c</seg></tuv></tu></body></tmx>'
    ),
    "xliff": (
        b'<xliff><file source-language="en" target-language="de"><body><trans-unit>'
        b'<source>a</source><target state="new">b</target></trans-unit></body></file>'
        b"</xliff>"
    ),
    "wmt": (
        b'<dataset><doc origlang="en" id="d"><src lang="en"><seg id="1">a</seg></src>'
        b'<ref lang="de"><seg id="1">b</seg></ref></doc></dataset>'
    ),
    "sgm": (
        b'<srcset srclang="en"><doc docid="d"><seg id="1">a & b</seg></doc></srcset>'
        b'<refset trglang="de"><doc docid="d"><seg id="1">c</seg></doc></refset>'
    ),
}
TOKENS = [
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b'"',
    b"<",
    b">",
    b"\\",
    b"\t",
    b",",
    b"&",
    b"{",
]
TOKENS += [
    "\u2028".encode(),
    "好".encode(),
    b"\xed\xa0\xbd",
    b"</seg>",
    b"msgstr ",
    b"[]",
]
changes = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 0.3), st.sampled_from(TOKENS)), max_size=4
)


def read(path, form: str, split: str) -> list:
    entry = TextInput("en-de", split, path.name, form, (str(path),), Corpus())
    return list(reading.read(entry, 0, None))


@pytest.mark.parametrize("form", WHOLE)
def test_the_whole_file_is_read(tmp_path, form):
    path = tmp_path / "file"
    path.write_bytes(WHOLE[form])
    assert sum(len(batch.sources) for batch in read(path, form, "news")) >= 1


@pytest.mark.parametrize("form", WHOLE)
@FUZZ
@given(changes=changes, split=st.sampled_from(["train", "news"]))
def test_a_damaged_file_is_read_or_explained(
    tmp_path, monkeypatch, form, changes, split
):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 7)
    content = WHOLE[form]
    for place, share, token in changes:
        start = int(place * len(content))
        content = content[:start] + token + content[start + int(share * len(content)) :]
    path = tmp_path / "file"
    path.write_bytes(content)
    try:
        batches = read(path, form, split)
    except UserError as error:
        assert str(path) in str(error) or path.name in str(error)
        assert "\n" not in str(error)
        return
    for batch in batches:
        sides = batch.sources, batch.targets
        places = list(batch.places)
        assert places == sorted(set(places))
        assert len(places) == len(sides[0]) == len(sides[1])
        for side in sides:
            assert len(repair(side)) == len(side)
            assert all(text.encode().count(b"\n") == 0 for text in side)
        assert all(0 <= position < len(places) for position in batch.faults)


@FUZZ
@given(content=st.binary(max_size=200), form=st.sampled_from(sorted(WHOLE)))
def test_any_bytes_at_all_are_read_or_explained(tmp_path, content, form):
    path = tmp_path / "file"
    path.write_bytes(content)
    try:
        read(path, form, "train")
    except UserError as error:
        assert path.name in str(error)


def test_every_reader_is_fuzzed_or_a_library_s():
    assert set(READERS) - set(WHOLE) == {"lines", "parquet", "tfds", "huggingface"}
