"""Reading line-aligned files in batches.

Lines end at a line feed and nowhere else: U+2028, U+0085 or a form feed inside a
sentence does not split it, and the carriage return of a CRLF file is white space
that the repair strips.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence

from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest.batch import BATCH, Batch
from components.ingest.cleaning.repair import decode
from components.ingest.layout import MISALIGNED_FILES, NOT_TEXT
from components.ingest.sources import shift
from components.ingest.sources.corpus import ORIGINS
from components.ingest.sources.encodings import open_text
from components.ingest.sources.inputs import SyntheticInput, TextInput
from components.ingest.sources.languages import matches, sides
from components.ingest.sources.synthetic import SyntheticConfig, generate
from models.errors import UserError

log = logging.getLogger(__name__)

LONGEST_LINE_BYTES = 1 << 26

# Lines of one file with the positions of those that are not text.
Lines = tuple[list[str], list[int]]


def read_synthetic(
    config: SyntheticConfig, entry: SyntheticInput, file: int
) -> Iterator[Batch]:
    """One shard of the synthetic source in batches."""
    pairs = list(generate(config, entry.task, entry.split, entry.index))
    for start in range(0, len(pairs), BATCH):
        sources, targets, nats = zip(*pairs[start : start + BATCH], strict=True)
        yield Batch(
            entry.task,
            entry.split,
            file,
            start + 1,
            list(sources),
            list(targets),
            nats=list(nats) if entry.split == IN_DOMAIN else None,
        )


def read_text(entry: TextInput, file: int) -> Iterator[Batch]:
    """Line-aligned files in batches: source, target and further references.

    Raises:
      UserError: The files have different numbers of lines, one is empty or
        cannot be read to its end, or both sides are the same text.
    """
    if entry.corpus.misaligned == "skip" and len(set(count_lines(entry))) > 1:
        yield from _skipped(entry, file)
        return
    origins = _origins(entry)
    streams = _streams(entry)
    first_line, identical = 1, True
    while True:
        parts = [next(stream, ([], [])) for stream in streams]
        if len({len(texts) for texts, _ in parts}) > 1:
            raise _misaligned(entry)
        batch = _batch(entry, file, first_line, parts)
        if not batch.sources:
            break
        batch.origins = _slice(origins, first_line - 1, len(batch.sources))
        identical = identical and batch.sources == batch.targets
        first_line += len(batch.sources)
        yield batch
    if first_line == 1:
        raise UserError(f"{entry.paths[0]}: the file is empty; expected sentences")
    if identical:
        raise UserError(
            f"{entry.paths[0]} and {entry.paths[1]} hold the same text; expected the "
            "two sides of a translation"
        )
    if isinstance(origins, list) and len(origins) != first_line - 1:
        raise UserError(
            f"{entry.origin}: {len(origins)} lines, but {entry.paths[0]} has "
            f"{first_line - 1}; expected one origin for each sentence"
        )


def text_batches(
    path: str, encoding: str | None = None, language: str = ""
) -> Iterator[Lines]:
    """The lines of a file, `BATCH` at a time, decoded.

    Args:
      path: The file, plain or compressed.
      encoding: Its encoding, ``detect``, or None: UTF-8 unless it has a
        byte-order mark.
      language: Code of its language, by which an encoding is detected.

    Raises:
      UserError: The file cannot be read to its end, or is no text.
    """
    codec, stream = open_text(path, encoding, language)
    for lines in line_batches(path, stream):
        yield decode(lines, codec)


def line_batches(path: str, stream: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The lines of a stream, `BATCH` at a time.

    Raises:
      UserError: A line is longer than any text.
    """
    rest, lines, count = b"", [], 0
    for chunk in stream:
        *complete, rest = (rest + chunk).split(b"\n")
        lines += complete
        count += len(complete)
        if len(rest) > LONGEST_LINE_BYTES:
            raise UserError(
                f"{path}: line {count + 1} is longer than {LONGEST_LINE_BYTES} bytes; "
                "expected one sentence a line"
            )
        while len(lines) >= BATCH:
            yield lines[:BATCH]
            del lines[:BATCH]
    if rest:
        lines.append(rest)
    if lines:
        yield lines


def count_lines(entry: TextInput) -> list[int]:
    """Lines of each of the files."""
    return [sum(len(texts) for texts, _ in stream) for stream in _streams(entry)]


def _streams(entry: TextInput) -> list[Iterator[Lines]]:
    languages = sides(entry.task)
    streams = []
    for position, path in enumerate(entry.paths):
        side = min(position, 1)  # further references are target sides
        encoding = entry.corpus.encoding_of(("source", "target")[side])
        streams.append(text_batches(path, encoding, languages[side]))
    return streams


def _batch(
    entry: TextInput, file: int, first_line: int, parts: Sequence[Lines]
) -> Batch:
    texts = [lines for lines, _ in parts]
    bad = itertools.chain.from_iterable(positions for _, positions in parts)
    details = None
    if len(texts) > 2:
        several = zip(*texts[1:], strict=True)
        details = [{"references": list(references)} for references in several]
    return Batch(
        entry.task,
        entry.split,
        file,
        first_line,
        texts[0],
        texts[1],
        dict.fromkeys(bad, NOT_TEXT),
        details=details,
    )


def _skipped(entry: TextInput, file: int) -> Iterator[Batch]:
    """Files that do not fit together: every line of them is rejected."""
    counts = count_lines(entry)
    log.warning("%s; all of it is skipped", _difference(entry, counts))
    streams, first_line = _streams(entry), 1
    while first_line <= max(counts):
        parts = [next(stream, ([], [])) for stream in streams]
        longest = max(len(texts) for texts, _ in parts)
        padded = [(texts + [""] * (longest - len(texts)), []) for texts, _ in parts]
        batch = _batch(entry, file, first_line, padded)
        batch.faults = dict.fromkeys(range(longest), MISALIGNED_FILES)
        yield batch
        first_line += longest


def _misaligned(entry: TextInput) -> UserError:
    counts = count_lines(entry)
    where = ""
    if counts[0] != counts[1]:
        streams = _streams(entry)[:2]
        texts = [itertools.chain.from_iterable(t for t, _ in s) for s in streams]
        where = shift.describe(*texts, *counts[:2])
    return UserError(
        f"{_difference(entry, counts)}{where}; expected line-aligned files: line k of "
        "one translates line k of the other; misaligned: skip leaves such files out"
    )


def _difference(entry: TextInput, counts: Sequence[int]) -> str:
    paths = zip(entry.paths, counts, strict=True)
    (first, count), *others = paths
    other, other_count = next((p, c) for p, c in others if c != count)
    return f"{first} has {count} lines, {other} has {other_count}"


def _origins(entry: TextInput) -> list[str] | str:
    """The origin of every line, or one for all of them."""
    if entry.split == TRAIN:
        return ""
    if not entry.origin or entry.origin in ORIGINS:
        return entry.origin or "mixed"
    origins: list[str] = []
    for texts, _ in text_batches(entry.origin):
        for text in texts:
            origin = origin_of(entry.task, text)
            if origin is None:
                source, target = sides(entry.task)
                raise UserError(
                    f"{entry.origin}: line {len(origins) + 1} is {text.strip()!r}; "
                    f"expected source, target, mixed, {source} or {target}"
                )
            origins.append(origin)
    return origins


def origin_of(task: str, text: str) -> str | None:
    """``source``, ``target`` or ``mixed`` for such a word or the code of a language
    of the task; None for anything else."""
    text = text.strip()
    if text in ORIGINS:
        return text
    for origin, language in zip(ORIGINS, sides(task), strict=False):
        if matches(text, language):
            return origin
    return None


def _slice(origins: list[str] | str, start: int, count: int) -> list[str] | None:
    if isinstance(origins, str):
        return [origins] * count if origins else None
    padding = [""] * max(0, start + count - len(origins))
    return origins[start : start + count] + padding
