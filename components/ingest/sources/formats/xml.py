"""Formats of XML: TMX, XLIFF, WMT's XML; and WMT's SGM, which is not quite XML.

libxml2 reads a file piece by piece, loads nothing from outside it, and stops entities
that expand out of all proportion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lxml import etree

from components.ingest.layout import FUZZY
from components.ingest.sources.corpus import DETECT
from components.ingest.sources.formats.records import listed
from components.ingest.sources.inputs import Pair, TextInput
from components.ingest.sources.languages import choose, matches, sides
from components.ingest.sources.text_files import chunks, text_batches
from models.errors import UserError

Segments = dict[str, str]

# Inline elements that hold formatting codes of the original document, not text.
_CODES = ("bpt", "ept", "it", "ph", "ut", "cp")
# States in which a target is not, or not yet, a translation of its source.
_UNFINISHED = ("new", "initial", "needs-")
_FORMATS = {"tmx": "tmx", "xliff": "xliff", "dataset": "wmt"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_OPEN_SEGMENT = re.compile(r"<seg\b", re.IGNORECASE)


def read_tmx(entry: TextInput) -> Iterator[Pair]:
    """A pair for each unit (TMX 1.4b); a side is empty where the unit lacks it.

    The origin is ``srclang``, of the unit or else of the header. ``*all*`` says that
    any language may be the source, which is to say nothing.

    Raises:
      UserError: The file is no TMX, or no unit has both languages.
    """
    languages: set[str] = set()
    header, number, found = "", 0, False
    for element in _elements(entry, "tmx", "header", "tu"):
        if _name(element) == "header":
            header = element.get("srclang", "")
            continue
        number += 1
        texts: Segments = {}
        for variant in element.iterchildren("{*}tuv"):
            for segment in variant.iterchildren("{*}seg"):
                texts.setdefault(_language(variant), _text(segment))
        languages.update(texts)
        source, target = (choose(texts, side) for side in sides(entry.task))
        found = found or (source is not None and target is not None)
        if source is not None or target is not None:
            origin = element.get("srclang", header)
            yield Pair(
                number,
                texts.get(source, ""),
                texts.get(target, ""),
                origin="" if origin == "*all*" else origin,
            )
    if not found:
        raise _no_pairs(entry, number, "unit", languages)


def read_xliff(entry: TextInput) -> Iterator[Pair]:
    """A pair for each unit (XLIFF 1.2) or segment (2.x).

    A target in a state such as ``new``, ``initial`` or ``needs-translation`` is
    ``fuzzy`` unless those are kept.

    Raises:
      UserError: The file is no XLIFF, or has no file in the task's languages.
    """
    languages: set[str] = set()
    number, found = 0, False
    for element in _elements(entry, "xliff", "trans-unit", "segment"):
        number += 1
        own = _xliff_languages(element)
        languages.add("-".join(own))
        direct = all(map(matches, own, sides(entry.task)))
        if not direct and not all(map(matches, own[::-1], sides(entry.task))):
            continue
        found = True
        one, other = element.find("{*}source"), element.find("{*}target")
        texts = ["" if side is None else _text(side) for side in (one, other)]
        state = element.get("state", "")
        state = state if other is None else other.get("state", state)
        unfinished = state.startswith(_UNFINISHED) and not entry.corpus.keep_fuzzy
        fault = FUZZY if unfinished and texts[1] else ""
        yield Pair(number, *(texts if direct else texts[::-1]), fault, own[0])
    if not found:
        raise _no_pairs(entry, number, "unit", languages)


def _xliff_languages(unit: etree._Element) -> tuple[str, str]:
    """The source and target language of the file that a unit is in."""
    for parent in unit.iterancestors("{*}file", "{*}xliff"):
        for one, other in (
            ("source-language", "target-language"),
            ("srcLang", "trgLang"),
        ):
            if parent.get(one):
                return parent.get(one), parent.get(other, "")
    return "", ""


def read_wmt(entry: TextInput) -> Iterator[Pair]:
    """A pair for each segment of WMT's XML (since 2021), with ``document``,
    ``domain`` and ``references``.

    A task that goes the other way round reads the first reference as its source and
    the source as its target; the origin tells which side is the original.

    Raises:
      UserError: The file is no such XML, or has no document in both languages.
    """
    languages: set[str] = set()
    number, documents, found = 0, 0, False
    for element in _elements(entry, "dataset", "doc"):
        documents += 1
        languages.update(map(_language, element))
        texts = [
            (_language(side), _segments(side))
            for side in element
            if _name(side) in ("src", "ref")
        ]
        sources, targets = _both(entry.task, texts)
        if not sources or not targets:
            continue
        found = True
        details = {"document": element.get("id"), "domain": element.get("domain")}
        details = {name: value for name, value in details.items() if value}
        for pair in _joined(sources[0], targets, element.get("origlang", ""), details):
            number += 1
            yield pair._replace(line=number)
    if not found:
        raise _no_pairs(entry, documents, "document", languages - {""})


def read_sgm(entry: TextInput) -> Iterator[Pair]:
    """A pair for each segment of WMT's SGM (until 2020), with ``document`` and
    ``references``: a source set, and reference sets in files of their own.

    Raises:
      UserError: A language is missing, or the files share no segments.
    """
    documents = [document for path in entry.paths for document in _sgm(entry, path)]
    names = " and ".join(entry.paths)
    languages = [language for _, language, _ in documents]
    for language in sides(entry.task):
        if not any(matches(own, language) for own in languages):
            raise UserError(
                f"{names}: expected {' and '.join(sides(entry.task))}, found "
                f"languages: {listed(dict.fromkeys(languages))}"
            )
    number, shared = 0, False
    for name in dict.fromkeys(name for name, _, _ in documents):
        own = [document for document in documents if document[0] == name]
        texts = [(language, _segments(element)) for _, language, element in own]
        sources, targets = _both(entry.task, texts)
        origins = [origin for *_, e in own if (origin := e.get("origlang"))]
        source = sources[0] if sources else {}
        shared = shared or any(source.keys() & target.keys() for target in targets)
        for pair in _joined(
            source, targets or [{}], [*origins, ""][0], {"document": name}
        ):
            number += 1
            yield pair._replace(line=number)
    if not shared:
        raise UserError(
            f"{names}: no segment of one is in the other; expected the same docid and "
            "seg id"
        )


def _sgm(entry: TextInput, path: str) -> list[tuple[str, str, etree._Element]]:
    """Name, language and element of each document of a set, by an HTML parser: in
    SGM, as in NIST's mteval, ampersands and angle brackets may stand for themselves,
    and attributes need no quotes."""
    encoding = entry.corpus.encoding_of(
        "source" if path == entry.paths[0] else "target"
    )
    lines: list[str] = []
    for texts, bad in text_batches(path, encoding):
        if bad:
            raise UserError(
                f"{path}: line {len(lines) + bad[0] + 1}: not in the encoding "
                f"{encoding or 'utf-8'}; name another"
            )
        lines += texts
    # A segment that was never closed ends where the next one begins.
    text = _OPEN_SEGMENT.sub("</seg><seg", "\n".join(lines))
    root = etree.HTML(text.encode(), etree.HTMLParser(encoding="utf-8"))
    found = []
    for element in () if root is None else root.iter("srcset", "refset"):
        kind = "srclang" if element.tag == "srcset" else "trglang"
        for document in element.iter("doc"):
            found.append((document.get("docid", ""), element.get(kind, ""), document))
    if not any(document.find(".//seg") is not None for *_, document in found):
        raise UserError(f"{path}: no segments; expected srcset or refset with <seg>")
    return found


def _both(
    task: str, texts: Sequence[tuple[str, Segments]]
) -> tuple[list[Segments], list[Segments]]:
    """The texts in the source language and those in the target language."""
    source, target = (
        [segments for language, segments in texts if matches(language, side)]
        for side in sides(task)
    )
    return source, target


def _joined(
    source: Segments, targets: Sequence[Segments], origin: str, details: dict
) -> Iterator[Pair]:
    """A pair for each segment of the source or of the first target, by its id."""
    for segment in dict.fromkeys([*source, *targets[0]]):
        references = [text for target in targets if (text := target.get(segment))]
        yield Pair(
            0,
            source.get(segment, ""),
            targets[0].get(segment, ""),
            origin=origin,
            details={**details, "references": references},
        )


def _segments(side: etree._Element) -> Segments:
    """The text of every segment by its id."""
    found: Segments = {}
    for element in side.iter("{*}seg"):
        found.setdefault(element.get("id", f"#{len(found) + 1}"), _text(element))
    return found


def _elements(entry: TextInput, root: str, *names: str) -> Iterator[etree._Element]:
    """The elements of these names, each whole, in the order of the file.

    Raises:
      UserError: The file is no XML from some line on, or is about something else.
    """
    path, encoding = entry.paths[0], entry.corpus.encoding_of("target")
    parser = etree.XMLPullParser(
        ("end",),
        tag=[f"{{*}}{name}" for name in names],
        encoding=None if encoding == DETECT else encoding,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    started = False
    try:
        for chunk in chunks(path):
            parser.feed(chunk)
            for _, element in parser.read_events():
                if not started:
                    started = True
                    _check_root(path, element.getroottree().getroot(), root)
                yield element
                _forget(element)
        _check_root(path, parser.close(), root)
    except etree.XMLSyntaxError as error:
        (line, column), (reason, *_) = error.position, error.msg.split(", line ")
        raise UserError(
            f"{path}: line {line}, column {column}: {' '.join(reason.split())}; "
            "expected well-formed XML"
        ) from error


def _check_root(path: str, element: etree._Element, root: str) -> None:
    name = _name(element)
    if name != root:
        other = f"; set format: {_FORMATS[name]}" if name in _FORMATS else ""
        raise UserError(
            f"{path}: the outermost element is <{name}>; expected <{root}>{other}"
        )


def _forget(element: etree._Element) -> None:
    """Frees an element and those before it, or the whole file stays in memory."""
    element.clear(keep_tail=True)
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _name(element: etree._Element) -> str:
    """The name of an element without its namespace."""
    return etree.QName(element).localname


def _language(element: etree._Element) -> str:
    return element.get(_LANGUAGE) or element.get("lang") or ""


def _text(element: etree._Element) -> str:
    """All text in an element, but for what is inside inline codes."""
    if not len(element):
        return element.text or ""
    codes = (f"{{*}}{name}" for name in _CODES)
    etree.strip_elements(element, *codes, with_tail=False)
    return "".join(element.itertext())


def _no_pairs(entry: TextInput, count: int, kind: str, known: set[str]) -> UserError:
    return UserError(
        f"{entry.paths[0]}: no {kind} has both {' and '.join(sides(entry.task))}; "
        f"{count} {kind}s, languages: {listed(sorted(known))}"
    )
