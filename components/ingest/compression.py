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

from apache_beam.io.filesystems import FileSystems

from models.errors import UserError

CHUNK_BYTES = 1 << 20
_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    ".bz2": lambda raw: bz2.BZ2File(raw),
    ".xz": lambda raw: lzma.LZMAFile(raw),
}


def chunks(path: str) -> Iterator[bytes]:
    """The content of a file, decompressed if its ending is gz, bz2 or xz.

    Raises:
      UserError: The file cannot be read to its end.
    """
    done = 0
    try:
        with FileSystems.open(path, compression_type="uncompressed") as raw:
            opener = next(
                (o for end, o in _OPENERS.items() if path.endswith(end)), None
            )
            file = raw if opener is None else opener(raw)
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
                done += len(chunk)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UserError(
            f"{path}: cannot be read beyond byte {done} of its text: {error}; "
            "the file is damaged or not what its name says"
        ) from error
