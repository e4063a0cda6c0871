"""What travels through the Beam graph: Arrow tables of pairs, as compressed bytes.

Beam's own cost is about 40 microseconds an element, as much as cleaning a pair, so
an element holds some thousand pairs, column by column (an Arrow stream, Zstandard).
Bytes need no coder of our own: any runner can ship them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

_TEXT = pa.large_string()  # a bucket may hold more than 2 GB
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=3))
_LINE_BITS = 44
_ROWS_TOGETHER = 4096

# Pairs that no rule rejects. The keys are those of `duplicates.keys`; `place` is file
# and line in one number; `nats` is -ln P(target | source), `origin` the original
# language (source, target or mixed), `details` JSON of what else goes into the shard
# of a test set. These three are null where unknown.
ACCEPTED = pa.schema(
    {
        "source": _TEXT,
        "target": _TEXT,
        "source_key": pa.uint64(),
        "target_key": pa.uint64(),
        "pair_key": pa.uint64(),
        "place": pa.uint64(),
        "nats": pa.float64(),
        "origin": pa.string(),
        "details": _TEXT,
    }
)
# Dead letters: pairs that a rule rejects.
REJECTED = pa.schema(
    {"place": pa.uint64(), "rule": pa.string(), "source": _TEXT, "target": _TEXT}
)


def pack(table: pa.Table) -> bytes:
    """A table as an element of the graph."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack(parts: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The rows of several elements as one table, in their order; nothing, ``b""``, is
    an element without rows."""
    tables = [pa.ipc.open_stream(part).read_all() for part in parts if part]
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def column(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers [rows]."""
    return table[name].to_numpy()


def rows(table: pa.Table, order: np.ndarray, names: Iterable[str]) -> Iterator[tuple]:
    """The values of some columns, at these positions one after another.

    Only a few thousand rows at a time are Python objects.
    """
    chosen = table.select(list(names))
    for start in range(0, len(order), _ROWS_TOGETHER):
        part = chosen.take(order[start : start + _ROWS_TOGETHER])
        yield from zip(*(c.to_pylist() for c in part.columns), strict=True)


def places_of(file: int, lines: Iterable[int]) -> np.ndarray:
    """Where pairs were read, uint64 [n]: position of the file in the list of inputs,
    and line."""
    numbers = np.fromiter(lines, np.uint64)
    return np.uint64(file << _LINE_BITS) | numbers


def files_and_lines(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of `places_of`, int64 [n] both."""
    lines = places & np.uint64((1 << _LINE_BITS) - 1)
    return (places >> np.uint64(_LINE_BITS)).astype(np.int64), lines.astype(np.int64)
