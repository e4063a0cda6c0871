"""Line-aligned files: line k of one translates line k of the other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain, count, zip_longest

from components.ingest.layout import MISALIGNED_FILES, NOT_TEXT
from components.ingest.sources.corpus import ORIGINS
from components.ingest.sources.inputs import Pair, TextInput
from components.ingest.sources.languages import is_code, sides
from components.ingest.sources.text_files import Lines, text_batches
from models.errors import UserError

log = logging.getLogger(__name__)

_IMPOSSIBLE = 4.0  # ratio of lengths that no translation has
_ADDED = 10  # characters added to both sides, so that short lines may differ more


def read(entry: TextInput) -> Iterator[Pair]:
    """Source, target and further references, with the origin of each where a file
    names it line by line.

    Raises:
      UserError: The files have different numbers of lines, or cannot be read.
    """
    skipped = entry.corpus.misaligned == "skip" and len(set(count_lines(entry))) > 1
    if skipped:
        log.warning("%s; all of it is skipped", _difference(entry))
    number = 0
    for parts in zip_longest(*_streams(entry), fillvalue=([], [])):
        texts = [lines for lines, _ in parts]
        if len(set(map(len, texts))) > 1 and not skipped:
            raise _misaligned(entry)
        if not skipped and len(texts) == 2 and not any(bad for _, bad in parts):
            yield from map(Pair, count(number + 1), *texts)
            number += len(texts[0])
            continue
        bad = set(chain.from_iterable(positions for _, positions in parts))
        for i, row in enumerate(zip_longest(*texts, fillvalue="")):
            number += 1
            fault = MISALIGNED_FILES if skipped else NOT_TEXT if i in bad else ""
            origin = ""
            if entry.origin_file:
                *row, origin = row
                _check_origin(entry, number, origin)
            details = {"references": list(row[1:])} if len(row) > 2 else None
            yield Pair(number, row[0], row[1], fault, origin, details)


def count_lines(entry: TextInput) -> list[int]:
    """Lines of each of the files."""
    return [sum(len(texts) for texts, _ in stream) for stream in _streams(entry)]


def _streams(entry: TextInput) -> list[Iterator[Lines]]:
    encodings = [entry.corpus.encoding_of("source")]
    encodings += [entry.corpus.encoding_of("target")] * (len(entry.paths) - 1)
    if entry.origin_file:
        encodings.append(None)
    return list(map(text_batches, _files(entry), encodings))


def _files(entry: TextInput) -> tuple[str, ...]:
    return (*entry.paths, entry.origin) if entry.origin_file else entry.paths


def _check_origin(entry: TextInput, number: int, origin: str) -> None:
    origin = origin.strip()
    if origin not in ORIGINS and not is_code(origin):
        source, target = sides(entry.task)
        raise UserError(
            f"{entry.origin}: line {number} is {origin[:40]!r}; expected source, "
            f"target, mixed, {source}, {target} or the code of another language"
        )


def _misaligned(entry: TextInput) -> UserError:
    return UserError(
        f"{_difference(entry)}; {_first_impossible(entry)}expected line-aligned files: "
        "line k of one translates line k of the other; misaligned: skip leaves such "
        "files out"
    )


def _difference(entry: TextInput) -> str:
    counts = count_lines(entry)
    (first, count), *others = zip(_files(entry), counts, strict=True)
    other, other_count = next((p, c) for p, c in others if c != count)
    return f"{first} has {count} lines, {other} has {other_count}"


def _first_impossible(entry: TextInput) -> str:
    """The first line whose sides cannot be translations, in words; empty without.

    Lengths are compared in units of the mean of their file, so that it does not
    matter how many characters each script needs.
    """
    lengths = [
        [len(text.strip()) for texts, _ in stream for text in texts]
        for stream in _streams(entry)[:2]
    ]
    means = [max(sum(side) / max(len(side), 1), 1) for side in lengths]
    scale = means[0] / means[1]
    for number, (left, right) in enumerate(zip(*lengths, strict=False), 1):
        one, other = left + _ADDED, right * scale + _ADDED
        if max(one, other) > _IMPOSSIBLE * min(one, other):
            return (
                f"line {number} is the first with impossible lengths ({left} and "
                f"{right} characters); "
            )
    return ""
