"""Gettext catalogues as compiled (MO)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from components.ingest.layout import NOT_TEXT
from components.ingest.sources.compression import chunks
from components.ingest.sources.formats import gettext_pairs
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from models.errors import UserError

_MAGIC = 0x950412DE
_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]+)")


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a compiled catalogue, which has neither fuzzy entries nor lines:
    the place is the number of the entry.

    Raises:
      UserError: It is no such file, was cut off, or is of another language.
    """
    path = entry.paths[0]
    content = b"".join(chunks(path))
    try:
        messages = list(_messages(content))
    except struct.error:
        raise UserError(
            f"{path}: not a whole MO file ({len(content)} bytes); expected a compiled "
            "gettext catalogue"
        ) from None
    header = next((text for message, text in messages if not message), b"")
    declared = _CHARSET.search(header)
    codec = entry.corpus.encoding_of("target")
    codec = codec or (declared[1].decode() if declared else "utf-8")
    try:
        gettext_pairs.check_header(entry, header.decode(codec, "replace"))
    except LookupError:
        raise UserError(f"{path}: unknown encoding {codec}; set encoding") from None
    for number, (message, translation) in enumerate(messages, 1):
        if not message:
            continue
        forms = message.rpartition(b"\4")[2].split(b"\0")
        numbered = [(number, _text(form, codec)) for form in forms]
        texts = [_text(form, codec) for form in translation.split(b"\0")]
        fault = "" if _is_text(message + translation, codec) else NOT_TEXT
        yield from gettext_pairs.pairs(entry, numbered, texts, fault)


def _text(content: bytes, codec: str) -> str:
    return content.decode(codec, "backslashreplace")


def _is_text(content: bytes, codec: str) -> bool:
    try:
        content.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _messages(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every message with its translation.

    Raises:
      struct.error: The file is none, or ends early.
    """
    (magic,) = struct.unpack_from("<I", content)
    order = "<" if magic == _MAGIC else ">"
    magic, _, count, messages, translations = struct.unpack_from(f"{order}5I", content)
    if magic != _MAGIC:
        raise struct.error("magic number")
    for i in range(count):
        yield tuple(
            _string(content, order, table + 8 * i) for table in (messages, translations)
        )


def _string(content: bytes, order: str, place: int) -> bytes:
    length, start = struct.unpack_from(f"{order}2I", content, place)
    if start + length > len(content):
        raise struct.error("a string ends after the file")
    return content[start : start + length]
