"""Text files as lines: any file system, plain or compressed, in any encoding.

A line ends at a line feed and nowhere else: U+2028, U+0085 or a form feed inside a
sentence does not split it, and the carriage return of a CRLF file is white space.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import logging
import lzma
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO

import zstandard
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from charset_normalizer import from_bytes

from components.ingest.batch import BATCH
from components.ingest.cleaning.repair import decode
from components.ingest.sources.corpus import DETECT
from components.ingest.sources.languages import normal
from models.errors import UserError

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 1 << 26
_LARGEST_WINDOW = 1 << 31  # what `zstd --long=31` writes
_ZSTANDARD_BYTES = 1 << 16  # a small part may hold a hundred times its size
_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    ".bz2": lambda raw: bz2.BZ2File(raw),
    ".xz": lambda raw: lzma.LZMAFile(raw),
}
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What files that call themselves GB2312 really hold.
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "utf-8-sig": "utf-8"}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))
_LOOK_AT = 4096
_ENOUGH = 512
_SAMPLE_BYTES = 1 << 17

# Lines of one file with the positions of those that are not text.
Lines = tuple[list[str], list[int]]


def text_batches(path: str, encoding: str | None = None) -> Iterator[Lines]:
    """The lines of a file, `BATCH` at a time, decoded.

    Args:
      path: The file, plain or compressed.
      encoding: Its encoding, ``detect``, or None for UTF-8; a byte-order mark
        overrides it.

    Raises:
      UserError: The file cannot be read to its end, or is no text.
    """
    codec, stream = _open_text(path, encoding)
    for lines in _line_batches(path, stream):
        yield decode(lines, codec)


def numbered_lines(path: str, encoding: str | None = None) -> Iterator[tuple]:
    """Number from 1, text, and whether it is text, of each line of `text_batches`."""
    number = 0
    for texts, bad in text_batches(path, encoding):
        broken = set(bad)
        for i, text in enumerate(texts):
            yield number + i + 1, text, i not in broken
        number += len(texts)


def chunks(path: str) -> Iterator[bytes]:
    """The content of a file, decompressed if its ending is gz, bz2, xz or zst.

    Beam decompresses by itself, but takes a stream that was cut off for a whole one;
    the standard library does not.

    Raises:
      UserError: The file cannot be read to its end.
    """
    done = 0
    try:
        with open_file(path) as raw:
            for chunk in _decompressed(path.lower(), raw):
                yield chunk
                done += len(chunk)
    except _DAMAGED as error:
        raise UserError(
            f"{path}: cannot be read beyond byte {done} of its text: {error}; "
            "the file is damaged or not what its name says"
        ) from error


def detect(path: str) -> str | None:
    """The encoding of a file as its bytes suggest it: UTF-8 if the lines that are more
    than ASCII are that; else what charset-normalizer says, or None."""
    lines: list[bytes] = []
    rest = b""
    for chunk in chunks(path):
        *complete, rest = (rest + chunk).split(b"\n")
        lines += [line for line in complete if not line.isascii()]
        if sum(map(len, lines)) >= _SAMPLE_BYTES:
            break
    else:
        lines.append(rest)
    sample = b"\n".join(lines)
    try:
        sample.decode()
        return "utf-8"
    except UnicodeDecodeError:
        best = from_bytes(sample).best()
    return best and best.encoding


def open_file(path: str) -> BinaryIO:
    """The bytes of a file as they are, on any file system.

    Raises:
      UserError: It cannot be opened.
    """
    try:
        return FileSystems.open(path, compression_type="uncompressed")
    except (OSError, BeamIOError, ValueError) as error:
        raise UserError(f"{path}: cannot be opened: {error}") from error


def _decompressed(name: str, raw: BinaryIO) -> Iterator[bytes]:
    if name.endswith(".zst"):
        yield from _zstandard(raw)
        return
    opener = next((o for end, o in _OPENERS.items() if name.endswith(end)), None)
    file = raw if opener is None else opener(raw)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _zstandard(raw: BinaryIO) -> Iterator[bytes]:
    """All frames of a file; unlike the library's reader, none that is cut off."""
    frame = None
    while data := raw.read(min(CHUNK_BYTES, _ZSTANDARD_BYTES)):
        while data:
            frame = (
                frame
                or zstandard.ZstdDecompressor(
                    max_window_size=_LARGEST_WINDOW
                ).decompressobj()
            )
            if text := frame.decompress(data):
                yield text
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends within a Zstandard frame")


def _line_batches(path: str, stream: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The lines of a stream, `BATCH` at a time."""
    rest, lines, count = b"", [], 0
    for chunk in stream:
        *complete, rest = (rest + chunk).split(b"\n")
        lines += complete
        count += len(complete)
        if len(rest) > LONGEST_LINE_BYTES:
            raise UserError(
                f"{path}: line {count + 1} is longer than {LONGEST_LINE_BYTES} bytes; "
                "expected one sentence a line"
            )
        while len(lines) >= BATCH:
            yield lines[:BATCH]
            del lines[:BATCH]
    if rest:
        lines.append(rest)
    if lines:
        yield lines


def _open_text(path: str, declared: str | None) -> tuple[str, Iterator[bytes]]:
    """Encoding and bytes of a text file without its byte-order mark. In these bytes
    a line feed is a line feed: wider encodings are translated to UTF-8."""
    stream = chunks(path)
    start = b""
    while len(start) < 4 and (more := next(stream, b"")):
        start += more
    mark, codec = next(((m, c) for m, c in _MARKS if start.startswith(m)), (b"", None))
    if codec is None:
        codec = _detected(path) if declared == DETECT else declared or "utf-8"
    codec = _SUPERSETS.get(normal(codec), codec)
    stream = chain([start[len(mark) :]], stream)
    if normal(codec).startswith(("utf-16", "utf16", "utf-32", "utf32")):
        return "utf-8", _to_utf8(path, stream, codec)
    _check_text(path, start[:_LOOK_AT])
    return codec, stream


def _to_utf8(path: str, stream: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Translates a stream. Half a UTF-16 pair stays what it is, so that the line it
    is in, and no other, turns out not to be text."""
    decoder = codecs.getincrementaldecoder(codec)("surrogatepass")
    done = 0
    try:
        for chunk in chain(stream, [b""]):
            text = decoder.decode(chunk, final=not chunk)
            yield text.encode("utf-8", "surrogatepass")
            done += len(chunk)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not {codec} near byte {done + error.start}: {error.reason}; "
            "expected the encoding that was declared, or name another"
        ) from error


def _detected(path: str) -> str:
    codec = detect(path)
    if codec is None:
        raise UserError(
            f"{path}: its encoding cannot be told from its bytes; name it under "
            "encoding, such as iso-8859-15, gb18030 or big5"
        )
    log.warning("%s: read as %s; name its encoding to be sure", path, codec)
    return codec


def _check_text(path: str, start: bytes) -> None:
    control = len(start) - len(start.translate(None, _CONTROL))
    if len(start) >= _ENOUGH and control * 20 >= len(start):
        raise UserError(
            f"{path}: a binary file: {control} of its first {len(start)} bytes are "
            "control characters; expected text (compressed files are told by their "
            "ending; UTF-16 without a byte-order mark needs encoding: utf-16-le)"
        )
