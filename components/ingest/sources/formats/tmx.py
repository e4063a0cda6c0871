"""TMX (Translation Memory eXchange 1.4b): translation units in any languages."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from components.ingest.sources.formats import xml_stream
from components.ingest.sources.formats.fields import listed
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import choose, sides
from models.errors import UserError

# Inline elements that hold formatting codes of the original document, not text.
_CODES = ("bpt", "ept", "it", "ph", "ut")


def read(entry: TextInput) -> Iterator[Pair]:
    """A pair for each unit; a side is empty where the unit lacks its language.

    The origin is ``srclang``, of the unit or else of the header. ``*all*`` says that
    any language may be the source, which is to say nothing.

    Raises:
      UserError: The file is no TMX, or no unit has both languages.
    """
    path = entry.paths[0]
    source_language, target_language = sides(entry.task)
    header, body = "", None
    seen: set[str] = set()
    number, found = 0, False
    encoding = entry.corpus.encoding_of("target")
    for event, element in xml_stream.events(path, "tmx", encoding):
        name = xml_stream.local(element)
        if event == "start":
            if name == "header":
                header = element.get("srclang", "")
            elif name == "body":
                body = element
            continue
        if name != "tu":
            continue
        number += 1
        texts = _texts(element)
        origin = element.get("srclang", header)
        if body is not None:
            body.clear()
        seen.update(texts)
        source = choose(texts, source_language)
        target = choose(texts, target_language)
        found = found or (source is not None and target is not None)
        if source is not None or target is not None:
            yield Pair(
                number,
                texts.get(source, ""),
                texts.get(target, ""),
                origin="" if origin == "*all*" else origin,
            )
    if not found:
        raise UserError(
            f"{path}: no unit has both {source_language} and {target_language}; "
            f"{number} units, languages: {listed(sorted(seen))}"
        )


def _texts(unit: Element) -> dict[str, str]:
    """Language -> text; the first of several variants of one language."""
    texts: dict[str, str] = {}
    for variant in xml_stream.children(unit, "tuv"):
        for segment in xml_stream.children(variant, "seg"):
            text = xml_stream.text(segment, _CODES)
            texts.setdefault(xml_stream.language(variant), text)
    return texts
