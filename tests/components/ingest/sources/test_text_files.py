"""Lines of compressed files, in any encoding; nothing depends on where chunks end."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.ingest.sources import text_files
from components.ingest.sources.corpus import Encodings
from models.errors import UserError
from tests.components.ingest.collect import pairs, texts

FUZZ = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Bytes and characters that mean something to a reader of lines, and some that do not.
odd_bytes = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff", "é".encode(), b"ab", b" "]
        + ["\u2028".encode(), "好".encode(), "🙂".encode()]
    ),
    max_size=40,
).map(b"".join)


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 5)
    monkeypatch.setattr(text_files, "BATCH", 3)


@FUZZ
@given(content=odd_bytes)
def test_lines_are_what_stands_between_line_feeds(small_steps, tmp_path, content):
    path = tmp_path / "text"
    path.write_bytes(content)
    batches = list(text_files.text_batches(str(path), "latin-1"))
    mark = b"\xef\xbb\xbf"
    codec = "utf-8" if content.startswith(mark) else "latin-1"
    expected = content.removeprefix(mark).split(b"\n")
    if not expected[-1]:
        expected.pop()
    lines = [line for batch, _ in batches for line in batch]
    assert lines == [line.decode(codec, "backslashreplace") for line in expected]
    assert all(len(batch) == 3 for batch, _ in batches[:-1])


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
    assert b"".join(text_files.chunks(str(path))) == content + b"and more\n"
    path.write_bytes(compress(content)[:-9])
    with pytest.raises(UserError, match=f"text.{ending}: cannot be read beyond"):
        list(text_files.text_batches(str(path)))


def test_a_long_line_is_one_line_and_a_longer_one_is_explained(tmp_path, monkeypatch):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 3_000_000 + b"\nshort\n")
    ((batch, bad),) = text_files.text_batches(str(path))
    assert not bad
    assert [len(line) for line in batch] == [3_000_000, 5]
    monkeypatch.setattr(text_files, "LONGEST_LINE_BYTES", 1 << 20)
    with pytest.raises(UserError, match="long: line 1 is longer than 1048576 bytes"):
        list(text_files.text_batches(str(path)))


SENTENCES = {
    "de": "Die Vögel über der Straße hören das schöne Lied, größer als früher.",
    "fr": "Sœur Noëlle a reçu un bœuf à Orléans, c'était déjà l'été.",
    "zh": "今天天气很好，我们去公园散步，看见了很多美丽的花和树。",
    "zh-tw": "今天天氣很好，我們去公園散步，看見了許多美麗的花和樹木。",
    "ru": "Сегодня хорошая погода, и мы пойдём гулять в большой парк.",
    "ja": "今日は天気がいいので、公園へ散歩に行きましょう。花がきれいです。",
    "ko": "오늘은 날씨가 좋아서 우리는 공원에 산책하러 갑니다.",
    "pl": "Zażółć gęślą jaźń, święty łoś śpi źle w każdą środę.",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("de", "iso-8859-1"),
        ("de", "cp1252"),
        ("fr", "iso-8859-15"),
        ("zh", "gb2312"),
        ("zh", "gb18030"),
        ("zh-tw", "big5"),
        ("ru", "koi8-r"),
        ("ru", "cp1251"),
        ("ja", "shift_jis"),
        ("ja", "euc_jp"),
        ("ko", "euc_kr"),
        ("pl", "utf-8"),
        ("zh", "utf-16"),
        ("zh", "utf-32"),
    ],
)
def test_an_encoding_is_declared_or_detected(tmp_path, language, encoding):
    lines = [f"{i}: {SENTENCES[language]}" for i in range(30)]
    if encoding == "cp1252":
        lines[3] = "„Größe“ – 5 €"
    (tmp_path / "a.en").write_text("".join(f"{i}\n" for i in range(30)))
    (tmp_path / "a.xx").write_bytes("\r\n".join(lines).encode(encoding))
    for declared in (encoding, "detect"):
        found = texts(
            tmp_path,
            f"en-{language.replace('-', '_')}",
            source="a.en",
            target="a.xx",
            encoding=Encodings(None, declared),
        )
        assert [target.rstrip("\r") for _, target in found] == lines


def test_a_byte_order_mark_is_believed_before_the_declaration(tmp_path):
    (tmp_path / "a.en").write_bytes("\ufeffgrün\na".encode("utf-16-be"))
    (tmp_path / "a.de").write_text("\ufeffblau\nb", encoding="utf-8")
    found = texts(
        tmp_path, "en-de", source="a.en", target="a.de", encoding="iso-8859-1"
    )
    assert found == [("grün", "blau"), ("a", "b")]


def test_half_a_character_of_utf_16_spoils_its_own_line_only(tmp_path):
    half = "a\nb\ud83d\nc\n".encode("utf-16", "surrogatepass")
    (tmp_path / "a.en").write_bytes(half)
    (tmp_path / "a.de").write_text("1\n2\n3\n")
    found = pairs(tmp_path, "en-de", source="a.en", target="a.de")
    assert [fault for *_, fault in found] == ["", "not_text", ""]
    (tmp_path / "a.en").write_bytes(half[:-1])
    with pytest.raises(UserError, match=r"a\.en: not utf-16-le near byte"):
        texts(tmp_path, "en-de", source="a.en", target="a.de")


def test_bytes_outside_a_declared_encoding_spoil_their_line_only(tmp_path):
    lines = ["好".encode("gb2312"), b"\xff\xff", "天".encode("gb2312"), b"ok\x81"]
    (tmp_path / "a.zh").write_bytes(b"\n".join(lines))
    (tmp_path / "a.en").write_text("1\n2\n3\n4\n")
    found = pairs(tmp_path, "en-zh", source="a.en", target="a.zh", encoding="gb2312")
    assert [(target, fault) for _, _, target, fault in found] == [
        ("好", ""),
        ("\\xff\\xff", "not_text"),
        ("天", ""),
        ("ok\\x81", "not_text"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(900), "a binary file: 90"),
        (bytes(range(256)) * 4, "a binary file: 100 of its first 1024 bytes"),
        (("grün und blau\n" * 50).encode("utf-16-be"), "needs encoding: utf-16-le"),
    ],
)
def test_what_is_no_text_is_told(tmp_path, content, message):
    (tmp_path / "a.en").write_bytes(content)
    (tmp_path / "a.de").write_text("x\n")
    with pytest.raises(UserError, match=rf"a\.en: .*{message}"):
        texts(tmp_path, "en-de", source="a.en", target="a.de")


def test_an_encoding_that_cannot_be_told_asks_for_its_name(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(128, 256)) * 20)
    with pytest.raises(UserError, match=r"cannot be told .*; name it under encoding"):
        list(text_files.text_batches(str(tmp_path / "a"), "detect"))
