"""What the bytes of a text file mean: byte-order marks, legacy encodings, no text.

Everything after this module sees bytes in which a line feed is a line feed: UTF-8
or a legacy encoding that keeps ASCII. Wider ones are translated on the way.
"""

from __future__ import annotations

import codecs
import logging
from collections.abc import Iterator
from itertools import chain

from charset_normalizer import from_bytes

from components.ingest.sources.compression import chunks
from components.ingest.sources.corpus import DETECT
from components.ingest.sources.languages import normal
from models.errors import UserError

log = logging.getLogger(__name__)

UTF_8 = "utf-8"
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What files that call themselves GB2312 really hold.
_WIDENED = {"gb2312": "gb18030", "gbk": "gb18030", "utf-8-sig": UTF_8}
_MAGIC = {
    b"\x1f\x8b": "gzip data, but is not named .gz",
    b"BZh": "bzip2 data, but is not named .bz2",
    b"\xfd7zXZ": "xz data, but is not named .xz",
    b"\x28\xb5\x2f\xfd": "Zstandard data, but is not named .zst",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "Parquet; name it under files",
    b"%PDF-": "a PDF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"\x7fELF": "a program",
}
_ODD = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a\x1b")
_LOOK_AT = 4096
_ENOUGH = 512
_SAMPLE_BYTES = 1 << 17
_WESTERN = ("cp1252", "iso8859_15")
# Which legacy encodings a language was written in; for others, all are tried.
_BY_LANGUAGE = {
    **dict.fromkeys(
        "en de fr es it nl pt sv da no nb nn fi is ca ga".split(), _WESTERN
    ),
    **dict.fromkeys("cs pl hu hr sl sk ro sq bs".split(), ("cp1250", "iso8859_2")),
    **dict.fromkeys("lt lv et".split(), ("cp1257", "iso8859_13")),
    **dict.fromkeys("ru bg be mk sr".split(), ("cp1251", "koi8_r", "iso8859_5")),
    "uk": ("cp1251", "koi8_u", "iso8859_5"),
    "el": ("cp1253", "iso8859_7"),
    "tr": ("cp1254", "iso8859_9"),
    "he": ("cp1255", "iso8859_8"),
    "ar": ("cp1256", "iso8859_6"),
    "vi": ("cp1258",),
    "th": ("cp874", "tis_620"),
    "zh": ("gb18030", "big5"),
    "ja": ("cp932", "euc_jp"),
    "ko": ("cp949",),
}


def open_text(
    path: str, declared: str | None, language: str
) -> tuple[str, Iterator[bytes]]:
    """A text file as an encoding and its bytes, without a byte-order mark.

    Args:
      path: The file, plain or compressed.
      declared: Its encoding, ``detect``, or None for UTF-8; a byte-order mark
        overrides it.
      language: Code of its language, by which an encoding is detected.

    Raises:
      UserError: It is no text, or its encoding cannot be told.
    """
    stream = chunks(path)
    start = b""
    while len(start) < 4 and (more := next(stream, b"")):
        start += more
    mark, codec = next(((m, c) for m, c in _MARKS if start.startswith(m)), (b"", None))
    if codec is None:
        codec = detect(path, language) if declared == DETECT else declared or UTF_8
    codec = _WIDENED.get(normal(codec), codec)
    stream = chain([start[len(mark) :]], stream)
    if normal(codec).startswith(("utf-16", "utf16", "utf-32", "utf32")):
        return UTF_8, to_utf8(path, stream, codec)
    _check_text(path, start)
    return codec, stream


def to_utf8(path: str, stream: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Translates a stream. Half a UTF-16 pair stays what it is, so that the line it
    is in, and no other, turns out not to be text.

    Raises:
      UserError: It is not in this encoding.
    """
    wide = normal(codec).startswith("utf")
    errors = "surrogatepass" if wide else "strict"
    decoder = codecs.getincrementaldecoder(codec)(errors)
    done = 0
    try:
        for chunk in stream:
            yield decoder.decode(chunk).encode(UTF_8, errors)
            done += len(chunk)
        yield decoder.decode(b"", final=True).encode(UTF_8, errors)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not {codec} near byte {done + error.start}: {error.reason}; "
            "expected the encoding that was declared, or name another"
        ) from error


def detect(path: str, language: str) -> str:
    """The encoding of a file, from the lines that are more than ASCII.

    UTF-8 if they are that; else the likeliest of those the language is written in.

    Raises:
      UserError: None fits.
    """
    sample = _sample(path)
    try:
        sample.decode()
        return UTF_8
    except UnicodeDecodeError:
        pass
    candidates = _BY_LANGUAGE.get(normal(language).partition("-")[0])
    if candidates is _WESTERN:
        found = western(sample)
    else:
        isolated = None if candidates is None else list(candidates)
        best = from_bytes(sample, cp_isolation=isolated, threshold=0.6).best()
        if best is None:
            raise UserError(
                f"{path}: its encoding cannot be told from its bytes; name it under "
                "encoding, such as iso-8859-15, gb18030 or big5"
            )
        found = best.encoding
    log.info("%s: taken for %s", path, found)
    return found


def western(sample: bytes) -> str:
    """Which Western European encoding: they differ in a few places only.

    Windows-1252 has letters and quotes where ISO 8859 has control characters.
    ISO 8859-15 has the euro sign, and the letters that French and Finnish lacked,
    where ISO 8859-1 has signs: a sign between letters is a letter.
    """
    if any(0x80 <= byte <= 0x9F for byte in sample):
        return "cp1252"
    text = sample.decode("iso8859_15")
    for before, sign, after in zip(text, text[1:], text[2:], strict=False):
        if sign in "ŠšŽžŒœŸ" and (before.isalpha() or after.isalpha()):
            return "iso8859_15"
        if sign == "€":
            return "iso8859_15"
    return "iso8859_1"


def _sample(path: str) -> bytes:
    """Lines of a file that are more than ASCII, as many as a guess needs."""
    lines: list[bytes] = []
    size, rest = 0, b""
    for chunk in chunks(path):
        *complete, rest = (rest + chunk).split(b"\n")
        beyond = [line for line in complete if not line.isascii()]
        lines += beyond
        size += sum(map(len, beyond))
        if size >= _SAMPLE_BYTES:
            return b"\n".join(lines)
    return b"\n".join([*lines, rest])


def _check_text(path: str, start: bytes) -> None:
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            raise UserError(f"{path}: this is {kind}; expected text")
    start = start[:_LOOK_AT]
    odd = sum(byte in _ODD for byte in start)
    if len(start) < _ENOUGH or odd * 20 < len(start):
        return
    for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if zeros.count(0) * 3 > len(zeros):
            raise UserError(
                f"{path}: this looks like UTF-16 without a byte-order mark; "
                f"set encoding: {name}"
            )
    raise UserError(
        f"{path}: a binary file: {odd} of its first {len(start)} bytes are control "
        "characters; expected text"
    )
