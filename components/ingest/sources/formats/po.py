"""Gettext catalogues as text (PO)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from components.ingest.cleaning.repair import decode
from components.ingest.layout import FUZZY, MALFORMED, NOT_TEXT
from components.ingest.sources.compression import chunks
from components.ingest.sources.encodings import open_text
from components.ingest.sources.formats import gettext_pairs
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import sides
from components.ingest.sources.lines import line_batches
from models.errors import UserError

_CHARSET = re.compile(rb'"Content-Type:[^"\n]*charset=([A-Za-z0-9_.:-]+)')
_FIELD = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)\s*(".*)', re.S)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclasses.dataclass
class _Entry:
    """An entry as far as it was read.

    Attributes:
      line: Line of the first field.
      messages: Line and text of the message, and of its plural.
      translations: The forms of the translation.
      fuzzy: Whether it is flagged so.
      fault: What is wrong with it, or empty.
      raw: The line that is wrong.
    """

    line: int = 0
    messages: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    translations: list[str] = dataclasses.field(default_factory=list)
    fuzzy: bool = False
    fault: str = ""
    raw: str = ""
    field: str = ""

    def blame(self, line: int, fault: str, raw: str) -> None:
        """Notes the first thing that is wrong."""
        self.line = self.line or line
        if not self.fault:
            self.fault, self.raw = fault, raw

    def begin(self, field: str, line: int, text: str) -> None:
        """A new field."""
        self.line = self.line or line
        self.field = field
        if field in ("msgid", "msgid_plural"):
            self.messages.append((line, text))
        elif field.startswith("msgstr"):
            self.translations.append(text)

    def go_on(self, text: str) -> None:
        """A further string of the field."""
        if self.field in ("msgid", "msgid_plural"):
            place, message = self.messages[-1]
            self.messages[-1] = place, message + text
        elif self.field.startswith("msgstr"):
            self.translations[-1] += text


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a catalogue; obsolete entries (``#~``) are no entries.

    Fuzzy translations, made for another or an older message, are ``fuzzy`` unless
    those are kept.

    Raises:
      UserError: It is no catalogue, or one of another language.
    """
    path, entries = entry.paths[0], 0
    gettext_pairs.is_reversed(entry)
    for found in _entries(entry):
        if found.fault:
            entries += bool(found.messages)
            yield Pair(found.line, found.raw, "", found.fault)
        elif found.messages and found.translations:
            entries += 1
            if found.messages[0][1]:
                fuzzy = found.fuzzy and not entry.corpus.keep_fuzzy
                yield from gettext_pairs.pairs(
                    entry, found.messages, found.translations, FUZZY if fuzzy else ""
                )
            else:
                gettext_pairs.check_header(entry, found.translations[0])
        elif found.messages:
            yield Pair(found.line, found.messages[0][1], "", MALFORMED)
    if not entries:
        raise UserError(f"{path}: no msgid with a msgstr in it; expected a catalogue")


def _entries(entry: TextInput) -> Iterator[_Entry]:
    now = _Entry()
    for line, text, fault in _lines(entry):
        text = text.strip()
        complete = bool(now.translations)
        if not text or (complete and text.startswith(("#", "msgctxt", "msgid"))):
            if now.line:
                yield now
            now = _Entry(fuzzy=now.fuzzy and not now.line)
        if fault:
            now.blame(line, fault, text)
        elif text.startswith("#~"):
            now.fuzzy = False  # the flag was that of an obsolete entry
        elif text.startswith("#,"):
            now.fuzzy = now.fuzzy or "fuzzy" in re.split(r"[,\s]+", text[1:])
        elif text and not text.startswith("#"):
            _field(now, line, text)
    if now.line:
        yield now


def _field(now: _Entry, line: int, text: str) -> None:
    """One line of an entry: a field or a further string of the one before."""
    field = _FIELD.fullmatch(text)
    string = _STRING.fullmatch((field[2] if field else text).strip())
    if string is None or not (field or now.field):
        now.blame(line, MALFORMED, text)
        return
    value = _ESCAPE.sub(_unescaped, string[1])
    if field:
        now.begin(field[1], line, value)
    else:
        now.go_on(value)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


def _lines(entry: TextInput) -> Iterator[tuple[int, str, str]]:
    """Number, text and fault of every line."""
    path, number = entry.paths[0], 0
    declared = entry.corpus.encoding_of("target") or _charset(path)
    codec, stream = open_text(path, declared, sides(entry.task)[1])
    for lines in line_batches(path, stream):
        texts, bad = decode(lines, codec)
        faults = dict.fromkeys(bad, NOT_TEXT)
        for i, text in enumerate(texts):
            number += 1
            yield number, text, faults.get(i, "")


def _charset(path: str) -> str | None:
    """The encoding that the header declares, if it is one."""
    found = _CHARSET.search(next(chunks(path), b""))
    if found is None or found[1] == b"CHARSET":  # as templates have it
        return None
    name = found[1].decode()
    try:
        "".encode(name)
    except LookupError:
        raise UserError(
            f"{path}: the header declares the encoding {name}, which is unknown; "
            "set encoding"
        ) from None
    return name
