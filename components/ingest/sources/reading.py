"""Reading an input of any kind in batches."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Iterator, Sequence

from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest.batch import BATCH, Batch
from components.ingest.layout import NOT_TEXT
from components.ingest.sources.corpus import ORIGINS
from components.ingest.sources.formats import READERS, SIZES
from components.ingest.sources.inputs import Pair, SyntheticInput, TextInput
from components.ingest.sources.languages import matches, sides
from components.ingest.sources.synthetic import SyntheticConfig, generate
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
        yield from _generated(entry, file, synthetic)
        return
    pairs = READERS[entry.format](entry)
    if entry.split == TRAIN:
        pairs = itertools.chain.from_iterable(map(_one_a_reference, pairs))
    last = 0
    while part := list(itertools.islice(pairs, BATCH)):
        # Several pairs of one line stand one after another: their places differ.
        lines = _rising([pair.line for pair in part], last)
        last = lines[-1]
        yield _batch(entry, file, part, lines)
    if not last and entry.part is None:
        raise _empty(entry)


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
        raise _empty(entry)


def _empty(entry: TextInput) -> UserError:
    return UserError(f"{entry.name}: the file is empty; expected pairs of sentences")


def _generated(
    entry: SyntheticInput, file: int, config: SyntheticConfig
) -> Iterator[Batch]:
    """One shard of the synthetic source in batches."""
    pairs = list(generate(config, entry.task, entry.split, entry.index))
    for start in range(0, len(pairs), BATCH):
        sources, targets, nats = map(
            list, zip(*pairs[start : start + BATCH], strict=True)
        )
        batch = Batch(entry.task, entry.split, file, start + 1, sources, targets)
        if entry.split == IN_DOMAIN:
            batch.nats = nats
        yield batch


def _one_a_reference(pair: Pair) -> Sequence[Pair]:
    """In training text every reference makes a pair of its own."""
    if not pair.details:
        return (pair,)
    references = pair.details.get("references") or [pair.target]
    return [pair._replace(target=text, details=None) for text in references]


def _rising(lines: list[int], last: int) -> list[int]:
    """Line numbers of which none is repeated; a pair's number is its identity."""
    if lines[0] > last and all(map(operator.lt, lines, lines[1:])):
        return lines
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
        details = [_details(pair) for pair in pairs]
        batch.details = details if any(details) else None
    return batch


def _clean_text(texts: list[str], faults: dict[int, str]) -> list[str]:
    """One line each, and nothing that cannot be written down again as text.

    Fields of JSON, CSV and the like may hold line feeds, which are white space here,
    and half characters, which are not text.
    """
    joined = "\n".join(texts)
    whole = "\0" not in joined and joined.count("\n") == len(texts) - 1
    if whole and _is_text(joined):
        return texts
    found = []
    for i, text in enumerate(texts):
        written = text.encode("utf-8", "backslashreplace").decode()
        if written != text or "\0" in text:
            faults.setdefault(i, NOT_TEXT)
        found.append(written.replace("\n", " "))
    return found


def _is_text(joined: str) -> bool:
    """Whether there are no half characters in it, as JSON may hold them."""
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return True


def _origin(entry: TextInput, pair: Pair) -> str:
    """In the words of the shards; a third language is neither side's."""
    found = entry.origin if entry.origin in ORIGINS else pair.origin.strip()
    if found in ORIGINS:
        return found
    languages = zip(ORIGINS, sides(entry.task), strict=False)
    return next((side for side, code in languages if matches(found, code)), "mixed")


def _details(pair: Pair) -> dict | None:
    details = dict(pair.details or {})
    if "references" in details:
        details["references"] = _clean_text(list(details["references"]), {})
        if len(details["references"]) < 2:
            del details["references"]
    return details or None
