"""Fields of a record, by dotted names: which hold the sides, and what is in them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.ingest.layout import MALFORMED, NOT_TEXT
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import choose, sides
from models.errors import UserError


class Wanted(NamedTuple):
    """Where the parts of a pair are: positions of columns, or names of fields.

    Attributes:
      source, target: The sides.
      origin: The original language; -1 or empty without.
      references: Further references.
      document: The document; -1 or empty without.
    """

    source: Any
    target: Any
    origin: Any
    references: tuple[Any, ...]
    document: Any

    @property
    def more(self) -> bool:
        """Whether anything beside the two sides is wanted."""
        return bool(self.references) or self[2::2] not in ((-1, -1), ("", ""))


def default_name(task: str, field: str, names: Collection[str]) -> str:
    """The column that holds a side when none is named: the one named as the
    language, in ``translation`` perhaps, or else as the side.

    Returns:
      One of the names, or the code of the language when none will do.
    """
    language = sides(task)[field == "target"]
    last = {name.rpartition(".")[2]: name for name in reversed(list(names))}
    known = choose(names, language)
    if known is None and (nested := choose(last, language)) is not None:
        known = last[nested]
    likely = (field, {"source": "src", "target": "tgt"}[field])
    return known or next((name for name in likely if name in names), language)


def listed(names: Sequence[str]) -> str:
    """Names in one line of a message, whatever is in them and however many."""
    shown = [" ".join(name.split())[:40] for name in names[:20]]
    return (", ".join(shown) or "none") + (", ..." if len(names) > 20 else "")


def did_you_mean(name: object, known: Collection[str]) -> str:
    """``; did you mean X?`` where a known name is close."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {' '.join(close[0].split())}?" if close else ""


def find(entry: TextInput, names: Sequence[str], where: str) -> Wanted:
    """The fields of the sides and of what else is asked for.

    Args:
      entry: What is read.
      names: Dotted names of the fields that there are.
      where: Place of the record they were seen in, for the message.

    Raises:
      UserError: A field is not there.
    """
    columns = entry.corpus.columns

    def named(key: str, name: int | str | None) -> str:
        if name in names:
            return str(name)
        raise UserError(
            f"{where}: no field {name}; it has {listed(names)}"
            f"{did_you_mean(name, names)}; set columns.{key}"
        )

    def side(key: str, name: int | str | None) -> str:
        likely = default_name(entry.task, key, names)
        return named(key, likely if name is None else name)

    return Wanted(
        side("source", columns.source),
        side("target", columns.target),
        "" if columns.origin is None else named("origin", columns.origin),
        tuple(named("references", name) for name in columns.references),
        "" if columns.document is None else named("document", columns.document),
    )


def dotted(record: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The names of all fields of a record that hold no further fields."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def pair_of(record: Mapping[str, Any], line: int, wanted: Wanted) -> Pair:
    """The pair that a record holds; ``malformed`` where a side is no text."""
    source, fault = _text(_get(record, wanted.source))
    target, other_fault = _text(_get(record, wanted.target))
    fault = fault or other_fault
    if not wanted.more:
        return Pair(line, source, target, fault)
    origin = _text(_get(record, wanted.origin))[0] if wanted.origin else ""
    details: dict[str, Any] = {}
    if wanted.references:
        found = (_get(record, name) for name in wanted.references)
        further = [text for value in found for text in _texts(value)]
        details["references"] = [target, *further]
    if wanted.document:
        details["document"] = _text(_get(record, wanted.document))[0]
    return Pair(line, source, target, fault, origin, details)


def _get(record: Mapping[str, Any], name: str) -> Any:
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
    if value is None:
        return "", ""
    if isinstance(value, str):
        return value, ""
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
