"""XLIFF 1.2 and 2.x: units with a source and, once translated, a target."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from components.ingest.layout import FUZZY
from components.ingest.sources.formats import xml_stream
from components.ingest.sources.formats.fields import listed
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import matches, sides
from models.errors import UserError

# Inline elements of 1.2 that hold codes; those of 2.x are empty.
_CODES = ("ph", "bpt", "ept", "it", "cp")
# States in which a target is not, or not yet, a translation of its source.
_UNFINISHED = ("new", "initial", "needs-")


def read(entry: TextInput) -> Iterator[Pair]:
    """A pair for each unit (1.2) or segment (2.x).

    A target in a state such as ``new``, ``initial`` or ``needs-translation`` is
    ``fuzzy`` unless those are kept.

    Raises:
      UserError: The file is no XLIFF, or has no file in the task's languages.
    """
    languages: tuple[str, str] = ("", "")
    seen: set[tuple[str, str]] = set()
    number, found = 0, False
    path = entry.paths[0]
    encoding = entry.corpus.encoding_of("target")
    for event, element in xml_stream.events(path, "xliff", encoding):
        name = xml_stream.local(element)
        if event == "start":
            if name == "xliff" and element.get("srcLang"):
                languages = element.get("srcLang", ""), element.get("trgLang", "")
                seen.add(languages)
            elif name == "file" and element.get("source-language"):
                languages = (
                    element.get("source-language", ""),
                    element.get("target-language", ""),
                )
                seen.add(languages)
            continue
        if name == "file":
            element.clear()
        if name not in ("trans-unit", "segment"):
            continue
        number += 1
        reverse = _direction(entry.task, languages)
        if reverse is not None:
            found = True
            yield _pair(entry, element, number, languages[0], reverse)
        element.clear()
    if not found:
        known = listed(["-".join(pair) for pair in sorted(seen)])
        raise UserError(
            f"{path}: nothing between {' and '.join(sides(entry.task))}; {number} "
            f"units, languages: {known}"
        )


def _direction(task: str, languages: tuple[str, str]) -> bool | None:
    """Whether the file goes the other way round; None: it is in other languages."""
    one, other = sides(task)
    if matches(languages[0], one) and matches(languages[1], other):
        return False
    if matches(languages[0], other) and matches(languages[1], one):
        return True
    return None


def _pair(
    entry: TextInput, unit: Element, number: int, origin: str, reverse: bool
) -> Pair:
    texts, state = ["", ""], unit.get("state", "")
    for side, name in enumerate(("source", "target")):
        for element in xml_stream.children(unit, name)[:1]:
            texts[side] = xml_stream.text(element, _CODES)
            state = element.get("state", state)
    unfinished = state.startswith(_UNFINISHED) and not entry.corpus.keep_fuzzy
    fault = FUZZY if unfinished and texts[1] else ""
    source, target = reversed(texts) if reverse else texts
    return Pair(number, source, target, fault, origin)
