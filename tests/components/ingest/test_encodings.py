"""Legacy encodings, declared and detected, and files that are no text."""

from __future__ import annotations

import gzip

import pytest

from components.ingest.sources.corpus import Encodings
from components.ingest.sources.encodings import detect
from models.errors import UserError
from tests.components.ingest.collect import pairs, texts

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
        ("pl", "iso-8859-2"),
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
        (gzip.compress(b"text\n" * 900), "this is gzip data, but is not named .gz"),
        (b"\x89PNG\r\n\x1a\n" + bytes(900), "this is an image"),
        (bytes(range(256)) * 4, "a binary file: 100 of its first 1024 bytes"),
        (("grün und blau\n" * 50).encode("utf-16-be"), "set encoding: utf-16-be"),
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
        detect(str(tmp_path / "a"), "zh")
