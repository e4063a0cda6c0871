"""Fields of a record, by dotted names: which hold the sides, and what is in them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.ingest.layout import MALFORMED, NOT_TEXT
from components.ingest.sources.inputs import Pair, TextInput
from components.ingest.sources.languages import choose, sides
from models.errors import UserError

Record = Mapping[str, Any]


class Fields(NamedTuple):
    """Dotted names of the fields that hold a pair; empty for those not asked for."""

    source: str
    target: str
    origin: str
    document: str
    references: tuple[str, ...]


def pairs(
    entry: TextInput, names: Sequence[str], records: Iterable[Record], first: int = 0
) -> Iterator[Pair]:
    """The pairs of records; the place is the number of the record.

    Args:
      entry: What is read.
      names: Dotted names of the fields that there are.
      records: The records.
      first: Records before them.

    Raises:
      UserError: A field is not there.
    """
    fields = find(entry, names, entry.name)
    for number, record in enumerate(records, first + 1):
        yield pair_of(record, number, fields)


def find(entry: TextInput, names: Sequence[str], where: str) -> Fields:
    """The fields of the sides and of what else is asked for.

    Args:
      entry: What is read.
      names: Dotted names of the fields that there are, in their order.
      where: Place of the record they were seen in, for the message.

    Raises:
      UserError: A field is not there.
    """
    columns = entry.corpus.columns

    def named(key: str, name: int | str) -> str:
        if isinstance(name, int) and name <= len(names):
            return names[name - 1]
        if name in names:
            return str(name)
        raise UserError(
            f"{where}: no column {name}; it has {listed(names)}"
            f"{did_you_mean(name, names)}; set columns.{key}"
        )

    def optional(key: str) -> str:
        name = getattr(columns, key)
        return "" if name is None else named(key, name)

    return Fields(
        optional("source") or named("source", _default(entry.task, "source", names)),
        optional("target") or named("target", _default(entry.task, "target", names)),
        optional("origin"),
        optional("document"),
        tuple(named("references", name) for name in columns.references),
    )


def pair_of(record: Record, line: int, fields: Fields) -> Pair:
    """The pair that a record holds; ``malformed`` where a side is no text."""
    source, fault = _text(_get(record, fields.source))
    target, other_fault = _text(_get(record, fields.target))
    fault = fault or other_fault
    if not any(fields[2:]):
        return Pair(line, source, target, fault)
    origin = _text(_get(record, fields.origin))[0] if fields.origin else ""
    details: dict[str, Any] = {}
    if fields.references:
        found = (_get(record, name) for name in fields.references)
        further = [text for value in found for text in _texts(value)]
        details["references"] = [target, *further]
    if fields.document:
        details["document"] = _text(_get(record, fields.document))[0]
    return Pair(line, source, target, fault, origin, details)


def dotted(record: Record, prefix: str = "") -> Iterator[str]:
    """The names of all fields of a record that hold no further fields."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def listed(names: Iterable[str]) -> str:
    """Names in one line of a message, whatever is in them and however many."""
    shown = [" ".join(name.split())[:40] for name in names]
    return (", ".join(shown[:20]) or "none") + (", ..." if len(shown) > 20 else "")


def did_you_mean(name: object, known: Collection[str]) -> str:
    """``; did you mean X?`` where a known name is close."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {' '.join(close[0].split())}?" if close else ""


def _default(task: str, side: str, names: Collection[str]) -> str:
    """The column of a side when none is named: the one named as its language, in
    ``translation`` perhaps, or else as the side."""
    language = sides(task)[side == "target"]
    last = {name.rpartition(".")[2]: name for name in reversed(list(names))}
    nested = choose(last, language)
    known = choose(names, language) or (nested and last[nested])
    likely = (side, {"source": "src", "target": "tgt"}[side])
    return known or next((name for name in likely if name in names), language)


def _get(record: Record, name: str) -> Any:
    """The value of a dotted name, None where there is none."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _text(value: Any) -> tuple[str, str]:
    """A value as text, and what is wrong with it."""
    if isinstance(value, str):
        return value, ""
    if value is None:
        return "", ""
    if isinstance(value, bytes):
        try:
            return value.decode(), ""
        except UnicodeDecodeError:
            return value.decode(errors="backslashreplace"), NOT_TEXT
    return str(value), "" if isinstance(value, int) else MALFORMED


def _texts(value: Any) -> list[str]:
    """Of a field with one reference or a list of them, those that are there."""
    several = value if isinstance(value, list) else [value]
    return [text for item in several if (text := _text(item)[0])]
