"""Streaming XML: elements as they end, and where a file stops being XML.

The parser is expat: it loads nothing from outside the file, and stops entities that
expand out of all proportion.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from components.ingest.sources.compression import chunks
from components.ingest.sources.corpus import DETECT
from components.ingest.sources.encodings import to_utf8
from models.errors import UserError

_DECLARED = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_PIECE_BYTES = 1 << 14
_ENCODING = re.compile(rb"(<\?xml[^>]*?)\s+encoding\s*=\s*[\"'][^\"']*[\"']")
_NATIVE = {"utf-8", "utf-16", "us-ascii", "iso-8859-1"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def events(path: str, root: str, encoding: str | None) -> Iterator[tuple[str, Element]]:
    """``start`` and ``end`` of every element, in the order of the file.

    Whoever has done with an element clears it, or the whole file stays in memory.

    Args:
      path: The file, plain or compressed.
      root: Name of the outermost element.
      encoding: Encoding, where it is not what the file declares.

    Raises:
      UserError: The file is no XML from some line on, or is about something else.
    """
    seen = False
    try:
        parser, stream = _parser(path, encoding)
        for piece in chain(_pieces(stream), [None]):
            if piece is None:
                parser.close()
            else:
                parser.feed(piece)
            for event, element in parser.read_events():
                if not seen and local(element) != root:
                    raise UserError(
                        f"{path}: the outermost element is <{local(element)}>; "
                        f"expected <{root}>{_other_format(local(element))}"
                    )
                seen = True
                yield event, element
    except ParseError as error:
        line, column = error.position
        reason = str(error).rpartition(": ")[0]
        raise UserError(
            f"{path}: line {line}, column {column + 1}: {reason}; expected well-formed "
            "XML"
        ) from error
    except (LookupError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: its encoding cannot be read: {error}") from error


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def language(element: Element, default: str = "") -> str:
    """``xml:lang`` or ``lang``."""
    return element.get(_LANGUAGE) or element.get("lang") or default


def children(element: Element, *names: str) -> list[Element]:
    """Direct children with one of these names."""
    return [child for child in element if local(child) in names]


def text(element: Element, hidden: Collection[str] = ()) -> str:
    """All text in an element, but for what is inside inline elements that hold code
    rather than text."""
    if not len(element):
        return element.text or ""
    parts = []
    waiting: list[Element | str] = [element]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append(item.text or "")
        for child in reversed(item):
            waiting.append(child.tail or "")
            if local(child) not in hidden:
                waiting.append(child)
    return "".join(parts)


def _other_format(name: str) -> str:
    formats = {"tmx": "tmx", "xliff": "xliff", "dataset": "wmt"}
    return f"; set format: {formats[name]}" if name in formats else ""


def _pieces(stream: Iterator[bytes]) -> Iterator[bytes]:
    """Few elements at a time: the collector of garbage looks at all that live."""
    for chunk in stream:
        for start in range(0, len(chunk), _PIECE_BYTES):
            yield chunk[start : start + _PIECE_BYTES]


def _parser(path: str, encoding: str | None) -> tuple[XMLPullParser, Iterator[bytes]]:
    stream = chunks(path)
    start = next(stream, b"")
    if not start:
        raise UserError(f"{path}: the file is empty; expected XML")
    stream = chain([start], stream)
    declared = _DECLARED.match(start)
    codec = encoding if encoding not in (None, DETECT) else None
    if codec is None and declared and declared[1].decode().lower() not in _NATIVE:
        codec = declared[1].decode()
    if codec is not None:
        stream = to_utf8(path, stream, codec)
        head = _ENCODING.sub(rb"\1", next(stream, b""), count=1)
        stream = chain([head], stream)
    return XMLPullParser(("start", "end")), stream
