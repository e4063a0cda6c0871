"""Lines in, lines out: as many, in the same order, whatever they hold.

A line ends at a line feed and nowhere else. White space around it (the carriage return
of a CRLF file too) and a byte-order mark are not text; bytes that are not UTF-8 become
U+FFFD. A line without text is an empty line again.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

_MARK = "\ufeff"
_REPLACEMENT = "\ufffd"
_PATIENCE = 0.05  # seconds to wait for one more line before those at hand are done


@dataclasses.dataclass(frozen=True)
class Found:
    """One translation of a line.

    Attributes:
      text: A single line.
      score: Of the search; of several pieces, over all their tokens.
    """

    text: str
    score: float


EMPTY = (Found("", 0.0),)


class LineTranslator(Protocol):
    """What translates lines."""

    def translate(self, texts: list[str]) -> list[tuple[Found, ...]]:
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
) -> Iterator[list[tuple[Found, ...]]]:
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
        found: list[tuple[Found, ...]] = [EMPTY] * len(texts)
        translated = translator.translate([texts[place] for place in places])
        for place, own in zip(places, translated, strict=True):
            found[place] = own
        tally.lines += len(texts)
        tally.empty += len(texts) - len(places)
        tally.undecodable += sum(_REPLACEMENT in text for text in texts)
        yield found
        report(tally)


def clean(line: bytes) -> str:
    """The text of a line."""
    return line.decode("utf-8", errors="replace").lstrip(_MARK).strip()


def groups(stream: BinaryIO, most: int) -> Iterator[list[bytes]]:
    """The lines of a stream, as many together as are there, up to ``most``.

    A thread reads ahead, so that lines of a file come in full groups, which are
    batched by length, and lines that a person types come one by one. What has been
    read and not been taken is at most ``2 * most`` lines.
    """
    waiting: queue.Queue[bytes | BaseException | None] = queue.Queue(2 * most)
    reader = threading.Thread(target=_read, args=(stream, waiting), daemon=True)
    reader.start()
    while True:
        group, goes_on = _take(waiting, most)
        if group:
            yield group
        if not goes_on:
            return


def _read(stream: BinaryIO, waiting: queue.Queue) -> None:
    try:
        for line in stream:
            waiting.put(line)
    except (OSError, ValueError) as error:
        waiting.put(error)
        return
    waiting.put(None)


def _take(waiting: queue.Queue, most: int) -> tuple[list[bytes], bool]:
    """The next group, and whether more may follow."""
    group: list[bytes] = []
    while len(group) < most:
        try:
            line = waiting.get(timeout=_PATIENCE if group else None)
        except queue.Empty:
            break
        if isinstance(line, BaseException):
            raise line
        if line is None:
            return group, False
        group.append(line)
    return group, True
