"""WMT's XML (since 2021): documents with their original language and references."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from components.ingest.sources.formats import xml_stream
from components.ingest.sources.formats.fields import listed
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import matches, sides
from models.errors import UserError

Segments = dict[str, str]


def read(entry: TextInput) -> Iterator[Pair]:
    """A pair for each segment, with ``document``, ``domain`` and ``references``.

    A task that goes the other way round reads the first reference as its source and
    the source as its target; the origin tells which side is the original.

    Raises:
      UserError: The file is no such XML, or has no document in both languages.
    """
    path, number, found = entry.paths[0], 0, False
    seen: set[str] = set()
    encoding = entry.corpus.encoding_of("target")
    for event, element in xml_stream.events(path, "dataset", encoding):
        if event == "start" or xml_stream.local(element) != "doc":
            continue
        seen.update(xml_stream.language(child) for child in element)
        sources, references = _sides(element, entry.task)
        details = {"document": element.get("id", ""), "domain": element.get("domain")}
        details = {name: value for name, value in details.items() if value}
        origin = element.get("origlang", "")
        element.clear()
        if not sources or not references:
            continue
        found = True
        for segment in list(dict.fromkeys([*sources, *references[0]])):
            number += 1
            texts = [text for r in references if (text := r.get(segment))]
            yield Pair(
                number,
                sources.get(segment, ""),
                references[0].get(segment, ""),
                origin=origin,
                details={**details, "references": texts},
            )
    if not found:
        known = listed(sorted(seen - {""}))
        raise UserError(
            f"{path}: no document has both {' and '.join(sides(entry.task))}; "
            f"languages: {known}"
        )


def _sides(document: Element, task: str) -> tuple[Segments, list[Segments]]:
    """The segments of the source and of every reference, by their ids."""
    source, target = sides(task)
    texts = {
        wanted: [
            _segments(child)
            for child in xml_stream.children(document, "src", "ref")
            if matches(xml_stream.language(child), wanted)
        ]
        for wanted in (source, target)
    }
    return (texts[source] or [{}])[0], texts[target]


def _segments(side: Element) -> Segments:
    found: Segments = {}
    for element in side.iter():
        if xml_stream.local(element) == "seg":
            found[element.get("id", f"#{len(found) + 1}")] = xml_stream.text(element)
    return found
