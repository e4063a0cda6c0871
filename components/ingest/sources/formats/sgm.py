"""WMT's SGM (until 2020): a source set, and reference sets in files of their own.

SGM is not XML: ampersands and angle brackets may stand for themselves, attributes
need no quotes. The format is that of NIST's mteval.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from html.parser import HTMLParser

from components.ingest.cleaning.repair import decode
from components.ingest.sources.corpus import DETECT
from components.ingest.sources.encodings import open_text
from components.ingest.sources.formats.fields import listed
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from components.ingest.sources.languages import matches, sides
from components.ingest.sources.lines import line_batches
from models.errors import UserError

Key = tuple[str, str]


@dataclasses.dataclass
class Side:
    """One translation of a set of documents.

    Attributes:
      language: Code of its language.
      texts: (document, segment) -> text.
      origins: Document -> code of the language it was first written in.
    """

    language: str
    texts: dict[Key, str] = dataclasses.field(default_factory=dict)
    origins: dict[str, str] = dataclasses.field(default_factory=dict)


def read(entry: TextInput) -> Iterator[Pair]:
    """A pair for each segment, with ``document`` and ``references``.

    Raises:
      UserError: A language is missing, or the files share no segments.
    """
    found = [side for path in entry.paths for side in _sides(entry, path)]
    source, target = sides(entry.task)
    sources = [side for side in found if matches(side.language, source)]
    targets = [side for side in found if matches(side.language, target)]
    names = " and ".join(entry.paths)
    if not sources or not targets:
        known = listed(list(dict.fromkeys(side.language for side in found)))
        raise UserError(
            f"{names}: expected {source} and {target}, found languages: {known}"
        )
    texts, first = sources[0].texts, targets[0].texts
    if not texts.keys() & first.keys():
        raise UserError(
            f"{names}: no segment of one is in the other; expected the same docid and "
            "seg id"
        )
    keys = dict.fromkeys([*texts, *first])
    for number, key in enumerate(keys, 1):
        references = [side.texts[key] for side in targets if key in side.texts]
        yield Pair(
            number,
            texts.get(key, ""),
            first.get(key, ""),
            origin=sources[0].origins.get(key[0], targets[0].origins.get(key[0], "")),
            details={"document": key[0], "references": references},
        )


def _sides(entry: TextInput, path: str) -> list[Side]:
    side = int(path != entry.paths[0])
    encoding = entry.corpus.encoding_of(("source", "target")[side])
    language = "" if encoding != DETECT else sides(entry.task)[side]
    codec, stream = open_text(path, encoding, language)
    parser = _Parser(path)
    line = 0
    for lines in line_batches(path, stream):
        texts, bad = decode(lines, codec)
        if bad:
            raise UserError(
                f"{path}: line {line + bad[0] + 1}: not {codec}; name the encoding"
            )
        try:
            parser.feed("\n".join(texts) + "\n")
        except AssertionError as error:  # how html.parser refuses a declaration
            raise UserError(
                f"{path}: line {parser.getpos()[0]}: no markup to be read: {error}"
            ) from error
        line += len(lines)
    parser.close()
    if not parser.sides:
        raise UserError(f"{path}: no segments; expected srcset or refset with <seg>")
    return list(parser.sides.values())


class _Parser(HTMLParser):
    """Collects segments: of a source set, and of each system of a reference set."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.sides: dict[Key, Side] = {}
        self._path = path
        self._set: tuple[str, str] | None = None  # kind and language
        self._side = Side("")
        self._document = ""
        self._segment: str | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("srcset", "refset"):
            language = "srclang" if tag == "srcset" else "trglang"
            self._set = tag, given.get(language, "")
        elif tag == "doc":
            self._start_document(given)
        elif tag == "seg":
            self._end_segment()  # a seg that was never closed ends here
            self._segment = given.get("id", f"#{len(self._side.texts) + 1}")
            self._text = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "seg":
            self._end_segment()

    def handle_data(self, data: str) -> None:
        if self._segment is not None:
            self._text.append(data)

    def _start_document(self, given: dict[str, str]) -> None:
        if self._set is None:
            raise UserError(
                f"{self._path}: line {self.getpos()[0]}: a doc outside srcset and "
                "refset; expected WMT's source or reference SGM"
            )
        kind, language = self._set
        system = given.get("sysid", "") if kind == "refset" else ""
        self._side = self.sides.setdefault((kind, system), Side(language))
        self._document = given.get("docid", "")
        self._side.origins[self._document] = given.get("origlang", "")

    def _end_segment(self) -> None:
        if self._segment is not None:
            key = self._document, self._segment
            self._side.texts.setdefault(key, "".join(self._text))
            self._segment = None
