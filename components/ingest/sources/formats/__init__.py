"""Formats that hold both sides of their pairs: a reader for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from components.ingest.sources.formats import (
    huggingface,
    json_lines,
    mo,
    parquet,
    po,
    sgm,
    tables,
    tfds,
    tmx,
    wmt_xml,
    xliff,
)
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput

READERS: Mapping[str, Callable[[TextInput], Iterator[Pair]]] = {
    "tsv": tables.read,
    "csv": tables.read,
    "jsonl": json_lines.read,
    "parquet": parquet.read,
    "tmx": tmx.read,
    "xliff": xliff.read,
    "po": po.read,
    "mo": mo.read,
    "wmt": wmt_xml.read,
    "sgm": sgm.read,
    "tfds": tfds.read,
    "huggingface": huggingface.read,
}

# How many records there are in each part that can be read by itself.
SIZES: Mapping[str, Callable[[TextInput], list[int]]] = {
    "parquet": parquet.sizes,
    "tfds": tfds.sizes,
}
