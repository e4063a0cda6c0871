"""Reading an input of any kind in batches."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from components.artifacts.text_shards import TRAIN
from components.ingest.batch import BATCH, Batch
from components.ingest.layout import NOT_TEXT
from components.ingest.sources.formats import READERS, SIZES
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import LINES, SyntheticInput, TextInput
from components.ingest.sources.lines import origin_of, read_synthetic, read_text
from components.ingest.sources.synthetic import SyntheticConfig
from models.errors import UserError


def read(
    entry: TextInput | SyntheticInput, file: int, synthetic: SyntheticConfig
) -> Iterator[Batch]:
    """The pairs of an input in batches.

    Args:
      entry: What to read.
      file: Its position in the list of inputs.
      synthetic: The synthetic languages.

    Raises:
      UserError: It cannot be read to its end, or is not what it should be.
    """
    if isinstance(entry, SyntheticInput):
        yield from read_synthetic(synthetic, entry, file)
    elif entry.format == LINES:
        yield from read_text(entry, file)
    else:
        yield from _in_batches(entry, file)


def _in_batches(entry: TextInput, file: int) -> Iterator[Batch]:
    pairs = READERS[entry.format](entry)
    if entry.split == TRAIN:
        pairs = itertools.chain.from_iterable(map(_one_a_reference, pairs))
    empty, last = True, 0
    while part := list(itertools.islice(pairs, BATCH)):
        empty = False
        # Several pairs of one line stand one after another: their places differ.
        lines = _rising([pair.line for pair in part], last)
        last = lines[-1]
        yield _batch(entry, file, part, lines)
    if empty and entry.part is None:
        raise UserError(f"{entry.name}: no sentences in it; expected pairs")


def _one_a_reference(pair: Pair) -> Iterator[Pair]:
    """In training text every reference makes a pair of its own."""
    references = (pair.details or {}).get("references") or [pair.target]
    for reference in references:
        yield pair._replace(target=reference, details=None)


def _rising(lines: Sequence[int], last: int) -> list[int]:
    """Line numbers of which none is repeated; a pair's number is its identity."""
    found = []
    for line in lines:
        last = max(line, last + 1)
        found.append(last)
    return found


def _batch(
    entry: TextInput, file: int, pairs: Sequence[Pair], lines: list[int]
) -> Batch:
    faults = {i: pair.fault for i, pair in enumerate(pairs) if pair.fault}
    sources = _clean_text([pair.source for pair in pairs], faults)
    targets = _clean_text([pair.target for pair in pairs], faults)
    batch = Batch(
        entry.task, entry.split, file, lines[0], sources, targets, faults, lines=lines
    )
    if entry.split == TRAIN:
        # Some of them may be held out; then it counts.
        if any(pair.origin for pair in pairs):
            batch.origins = [pair.origin and _origin(entry, pair) for pair in pairs]
    else:
        batch.origins = [_origin(entry, pair) for pair in pairs]
        batch.details = [_details(pair) for pair in pairs]
    return batch


def _clean_text(texts: list[str], faults: dict[int, str]) -> list[str]:
    """One line each, and nothing that cannot be written down again as text.

    Fields of JSON, CSV and the like may hold line feeds, which are white space here,
    and half characters, which are not text.
    """
    joined = "\n".join(texts)
    whole = True
    if not joined.isascii():
        try:
            joined.encode()
        except UnicodeEncodeError:
            whole = False
    if whole and "\0" not in joined and joined.count("\n") == len(texts) - 1:
        return texts
    found = []
    for i, text in enumerate(texts):
        written = text.encode("utf-8", "backslashreplace").decode()
        if written != text or "\0" in text:
            faults.setdefault(i, NOT_TEXT)
        found.append(written.replace("\n", " "))
    return found


def _origin(entry: TextInput, pair: Pair) -> str:
    """In the words of the shards; a third language is neither side's."""
    if entry.origin:
        return entry.origin
    return origin_of(entry.task, pair.origin) or "mixed"


def _details(pair: Pair) -> dict | None:
    details = dict(pair.details or {})
    if "references" in details:
        details["references"] = _clean_text(list(details["references"]), {})
        if len(details["references"]) < 2:
            del details["references"]
    return details or None


def parts(entry: TextInput | SyntheticInput) -> Iterator[TextInput | SyntheticInput]:
    """An input as the parts that can be read independently of each other.

    Raises:
      UserError: A dataset is not there.
    """
    sizes = SIZES.get(entry.format) if isinstance(entry, TextInput) else None
    if sizes is None:
        yield entry
        return
    start = 0
    for size in sizes(entry):
        yield dataclasses.replace(entry, part=(start, start + size))
        start += size
    if not start:
        raise UserError(f"{entry.name}: no sentences in it; expected pairs")
