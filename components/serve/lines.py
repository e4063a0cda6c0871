"""Lines in, lines out: as many, in the same order, whatever they hold.

A line ends at a line feed and nowhere else. White space around it (the carriage return
of a CRLF file too) and a byte-order mark are not text; bytes that are not UTF-8 become
U+FFFD. A line without text is an empty line again.
"""

from __future__ import annotations

import collections
import dataclasses
import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

_MARK = "\ufeff"
_REPLACEMENT = "\ufffd"
_PATIENCE = 0.05  # seconds to wait for one more line before those at hand are done
_CHUNK = 1 << 16  # bytes
_CHUNKS = 16  # that wait
_MOST_BYTES = 1 << 24  # of a group, up to its last line
_FIRST_GROUP = 64  # lines
_LINE_ENDS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


@dataclasses.dataclass(frozen=True)
class Translated:
    """One translation of a text.

    Attributes:
      text: A single line.
      score: Of the search; of several pieces, over all their tokens.
    """

    text: str
    score: float


EMPTY = (Translated("", 0.0),)


class LineTranslator(Protocol):
    """What translates lines."""

    def translate(self, texts: list[str]) -> list[tuple[Translated, ...]]:
        """One or more translations of each text, the best first."""


@dataclasses.dataclass
class Tally:
    """What went by.

    Attributes:
      lines: Lines done.
      empty: Of them without text.
      undecodable: Of them not UTF-8.
    """

    lines: int = 0
    empty: int = 0
    undecodable: int = 0


def translate_lines(
    translator: LineTranslator,
    lines: Iterable[list[bytes]],
    tally: Tally,
    report: Callable[[Tally], None],
) -> Iterator[list[tuple[Translated, ...]]]:
    """Translates groups of lines.

    Args:
      translator: Of texts.
      lines: Groups of lines, see `groups`.
      tally: Counts up as the groups are done.
      report: Called with it after each group.

    Yields:
      For each group the translations of each of its lines.
    """
    for group in lines:
        texts = [clean(line) for line in group]
        places = [place for place, text in enumerate(texts) if text]
        found: list[tuple[Translated, ...]] = [EMPTY] * len(texts)
        translated = translator.translate([texts[place] for place in places])
        for place, own in zip(places, translated, strict=True):
            found[place] = own
        tally.lines += len(texts)
        tally.empty += len(texts) - len(places)
        tally.undecodable += sum(
            _REPLACEMENT in text and _REPLACEMENT.encode() not in line
            for line, text in zip(group, texts, strict=True)
        )
        yield found
        report(tally)


def one_line(text: str) -> str:
    """A text as one line and one cell of a table, whatever the model wrote."""
    return _LINE_ENDS.sub(" ", text).strip()


def clean(line: bytes) -> str:
    """The text of a line."""
    return line.decode("utf-8", errors="replace").lstrip(_MARK).strip()


def groups(stream: BinaryIO, most: int) -> Iterator[list[bytes]]:
    """The lines of a stream, as many together as are there, up to ``most``.

    A thread reads ahead, so that lines of a file come in full groups, which are
    batched by length, and lines that a person types come one by one. The first groups
    of a file are smaller, so that there is soon something to see. What has been read
    and not been taken is bounded, in lines and in bytes.

    Raises:
      OSError: The stream cannot be read any further.
    """
    reader = _Reader(stream)
    size = min(_FIRST_GROUP, most)
    while group := reader.take(size):
        yield group
        size = min(2 * size, most)
    if reader.failure is not None:
        raise reader.failure


class _Reader:
    """Lines of a stream, read ahead by a thread.

    Attributes:
      failure: What ended the stream, unless that was its end.
    """

    def __init__(self, stream: BinaryIO):
        # Unbuffered: a thread that waits inside a buffered reader would hold its lock
        # when the process ends.
        self._stream = getattr(stream, "raw", stream)
        self.failure: Exception | None = None
        self._chunks: queue.Queue[bytes] = queue.Queue(_CHUNKS)
        self._lines: collections.deque[bytes] = collections.deque()
        self._unfinished: list[bytes] = []  # parts of the last line
        self._is_over = False
        threading.Thread(target=self._read, daemon=True).start()

    def take(self, most: int) -> list[bytes]:
        """The next lines; none when the stream is over."""
        group: list[bytes] = []
        size = 0
        while len(group) < most and size < _MOST_BYTES:
            if self._lines:
                group.append(self._lines.popleft())
                size += len(group[-1])
                continue
            if self._is_over:
                break
            try:
                self._split(self._chunks.get(timeout=_PATIENCE if group else None))
            except queue.Empty:
                break
        return group

    def _read(self) -> None:
        """Puts what is there, and an empty chunk at the end."""
        try:
            while chunk := self._stream.read(_CHUNK):
                self._chunks.put(chunk)
        except (OSError, ValueError) as error:
            self.failure = error
        self._chunks.put(b"")

    def _split(self, chunk: bytes) -> None:
        self._is_over = not chunk
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._lines.append(b"".join([*self._unfinished, part]))
            self._unfinished = []
        if rest:
            self._unfinished.append(rest)
        if self._is_over and self._unfinished and self.failure is None:
            self._lines.append(b"".join(self._unfinished))
