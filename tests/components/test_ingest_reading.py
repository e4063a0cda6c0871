"""Reading in batches: nothing depends on where chunks, batches or lines end."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.ingest.cleaning.repair import decode, repair
from components.ingest.duplicates.keys import comparable
from components.ingest.sources import compression, lines
from components.ingest.sources.compression import chunks
from components.ingest.sources.encodings import open_text
from components.ingest.sources.inputs import LINES, TextInput
from models.errors import UserError

FUZZ = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Bytes and characters that mean something to a reader of lines, and some that do not.
odd_bytes = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\xef\xbb\xbf", b"\0", b"\xff", "é".encode(), b"ab", b" "]
        + ["\u2028".encode(), "好".encode(), "🙂".encode()]
    ),
    max_size=40,
).map(b"".join)
odd_lines = st.lists(
    st.text(
        st.one_of(
            st.sampled_from("\u0301e\u2028\x85\xa0\ufeff\x07 \tßΣςﬁＡ你!_"),
            st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
        ),
        max_size=12,
    ),
    max_size=6,
)


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(compression, "CHUNK_BYTES", 5)
    monkeypatch.setattr(lines, "BATCH", 3)


def two_files(folder: Path, split: str, origin: str = "") -> TextInput:
    paths = str(folder / "a"), str(folder / "b")
    return TextInput("en-de", split, "a", LINES, paths, origin=origin)


@FUZZ
@given(content=odd_bytes)
def test_lines_are_what_stands_between_line_feeds(small_steps, tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    _, stream = open_text(str(path), None, "de")
    batches = list(lines.line_batches(str(path), stream))
    expected = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert [line for batch in batches for line in batch] == expected
    assert all(len(batch) == 3 for batch in batches[:-1])


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_files_are_read_to_the_end_or_not_at_all(
    tmp_path, ending, compress, small_steps
):
    content = "".join(f"Zeile {i} ü\n" for i in range(500)).encode()
    path = tmp_path / f"text.{ending}"
    path.write_bytes(compress(content) + compress(b"and more\n"))
    assert b"".join(chunks(str(path))) == content + b"and more\n"
    path.write_bytes(compress(content)[:-9])
    with pytest.raises(UserError, match=f"text.{ending}: cannot be read beyond"):
        list(lines.text_batches(str(path)))


@pytest.mark.parametrize(("left", "right"), [(9, 8), (3, 7), (6, 5), (0, 4)])
def test_misaligned_files_are_counted_to_their_ends(tmp_path, small_steps, left, right):
    for name, count in (("a", left), ("b", right)):
        (tmp_path / name).write_text("x\n" * count)
    entry = two_files(tmp_path, "train")
    with pytest.raises(UserError, match=rf"a has {left} lines, .*b has {right};"):
        list(lines.read_text(entry, 0))


def test_batches_carry_their_place_and_their_bad_lines(tmp_path, small_steps):
    (tmp_path / "a").write_bytes(b"1\n2\n3\n4\n\xff\n6\n7")
    (tmp_path / "b").write_bytes(b"1\n2\n3\n4\n5\n\xfe\n7")
    entry = two_files(tmp_path, "t", "source")
    batches = list(lines.read_text(entry, 4))
    assert [batch.first_line for batch in batches] == [1, 4, 7]
    assert [set(batch.faults) for batch in batches] == [set(), {1, 2}, set()]
    assert [len(batch.sources) for batch in batches] == [3, 3, 1]
    assert {batch.file for batch in batches} == {4}
    assert batches[1].origins == ["source"] * 3


@pytest.mark.parametrize(
    ("origins", "message"),
    [
        (["en", "de", "xx"], r"origin: line 3 is 'xx'; expected .*, en or de"),
        (["en"], r"origin: 1 lines, but .*a has 4"),
        (["en"] * 5, r"origin: 5 lines, but .*a has 4"),
    ],
)
def test_origins_that_do_not_fit_are_explained(tmp_path, small_steps, origins, message):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n" * 4)
    path = tmp_path / "origin"
    path.write_text("\n".join(origins))
    entry = two_files(tmp_path, "news", str(path))
    with pytest.raises(UserError, match=message):
        list(lines.read_text(entry, 0))


@FUZZ
@given(content=odd_bytes)
def test_decoding_a_batch_is_decoding_each_line(content):
    raw = content.split(b"\n")
    texts, bad = decode(raw)
    assert len(texts) == len(raw)
    for position, (line, text) in enumerate(zip(raw, texts, strict=True)):
        alone, alone_bad = decode([line])
        assert alone == [text]
        assert (position in bad) == bool(alone_bad)
        if position not in bad:
            assert text.encode() == line


@FUZZ
@given(texts=odd_lines)
def test_repairing_and_comparing_a_batch_is_doing_so_line_by_line(texts):
    repaired = repair(texts)
    assert repaired == [repair([text])[0] for text in texts]
    assert repair(repaired) == repaired
    for text in repaired:
        assert text == " ".join(text.split())
    if texts:
        keys = comparable(repaired)
        assert keys == [comparable([text])[0] for text in repaired]


def test_a_long_line_is_one_line(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 3_000_000 + b"\nshort\n")
    ((batch, bad),) = lines.text_batches(str(path))
    assert not bad
    assert [len(line) for line in batch] == [3_000_000, 5]
