"""Reading line-aligned files in batches.

Lines end at a line feed and nowhere else: U+2028, U+0085 or a form feed inside a
sentence does not split it, and the carriage return of a CRLF file is white space
that the repair strips.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.ingest.batch import BATCH, Batch
from components.ingest.compression import chunks
from components.ingest.inputs import SyntheticInput, TextInput
from components.ingest.repair import decode
from components.ingest.synthetic import SyntheticConfig, generate
from components.text_shards import IN_DOMAIN
from models.errors import UserError

NOT_TEXT = "not_text"
_MARK = b"\xef\xbb\xbf"


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
    """Two line-aligned files in batches.

    Raises:
      UserError: The files have different numbers of lines, one is empty or
        cannot be read to its end.
    """
    origins = _origins(entry)
    sources, targets = line_batches(str(entry.source)), line_batches(str(entry.target))
    first_line = 1
    while True:
        left, right = next(sources, []), next(targets, [])
        if len(left) != len(right):
            lines = (
                first_line - 1 + len(side) + sum(map(len, rest))
                for side, rest in ((left, sources), (right, targets))
            )
            raise _misaligned(entry, *lines)
        if not left:
            break
        source_texts, bad_sources = decode(left)
        target_texts, bad_targets = decode(right)
        yield Batch(
            entry.task,
            entry.split,
            file,
            first_line,
            source_texts,
            target_texts,
            dict.fromkeys(bad_sources + bad_targets, NOT_TEXT),
            origins=_slice(origins, first_line - 1, len(left)),
        )
        first_line += len(left)
    if first_line == 1:
        raise UserError(f"{entry.source}: the file is empty; expected sentences")
    if isinstance(origins, list) and len(origins) != first_line - 1:
        raise UserError(
            f"{entry.origin}: {len(origins)} lines, but {entry.source} has "
            f"{first_line - 1}; expected one origin for each sentence"
        )


def line_batches(path: str) -> Iterator[list[bytes]]:
    """The lines of a file, `BATCH` at a time, without a byte-order mark.

    Raises:
      UserError: The file cannot be read to its end.
    """
    rest, lines, first = b"", [], True
    for chunk in chunks(path):
        chunk = rest + (chunk.removeprefix(_MARK) if first else chunk)
        *complete, rest = chunk.split(b"\n")
        first = False
        lines += complete
        while len(lines) >= BATCH:
            yield lines[:BATCH]
            del lines[:BATCH]
    if rest:
        lines.append(rest)
    if lines:
        yield lines


def _origins(entry: TextInput) -> list[str] | str:
    """The origin of every line, or one for all of them."""
    if not entry.origin or entry.origin in ("source", "target", "mixed"):
        return entry.origin
    source, _, target = entry.task.partition("-")
    meaning = {source: "source", target: "target"}
    meaning |= {name: name for name in ("source", "target", "mixed")}
    origins = []
    for lines in line_batches(entry.origin):
        for text in (line.decode(errors="replace").strip() for line in lines):
            if text not in meaning:
                raise UserError(
                    f"{entry.origin}: line {len(origins) + 1} is {text!r}; expected "
                    f"source, target, mixed, {source} or {target}"
                )
            origins.append(meaning[text])
    return origins


def _slice(origins: list[str] | str, start: int, count: int) -> list[str] | None:
    if isinstance(origins, str):
        return [origins] * count if origins else None
    padding = [""] * max(0, start + count - len(origins))
    return origins[start : start + count] + padding


def _misaligned(entry: TextInput, sources: int, targets: int) -> UserError:
    return UserError(
        f"{entry.source} has {sources} lines, {entry.target} has {targets}; "
        "expected line-aligned files: line k of one translates line k of the other"
    )
