"""Opening files of any Beam file system, plain or compressed, to the last byte.

Beam decompresses by itself, but takes a stream that was cut off for a whole one;
the standard library does not.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

import zstandard
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from models.errors import UserError

CHUNK_BYTES = 1 << 20
_LARGEST_WINDOW = 1 << 31  # what `zstd --long=31` writes
_ZSTANDARD_BYTES = 1 << 16  # a small part may hold a hundred times its size
_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    ".bz2": lambda raw: bz2.BZ2File(raw),
    ".xz": lambda raw: lzma.LZMAFile(raw),
}
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def chunks(path: str) -> Iterator[bytes]:
    """The content of a file, decompressed if its ending is gz, bz2, xz or zst.

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
    """All frames of a file, and nothing but whole ones."""
    frame = None
    while data := raw.read(min(CHUNK_BYTES, _ZSTANDARD_BYTES)):
        while data:
            if frame is None:
                decompressor = zstandard.ZstdDecompressor(
                    max_window_size=_LARGEST_WINDOW
                )
                frame = decompressor.decompressobj()
            if text := frame.decompress(data):
                yield text
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends within a Zstandard frame")
