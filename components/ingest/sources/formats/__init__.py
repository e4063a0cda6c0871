"""Formats of parallel text: a reader for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from components.ingest.sources.formats import datasets, lines, tables, xml
from components.ingest.sources.inputs import Pair, TextInput

READERS: Mapping[str, Callable[[TextInput], Iterator[Pair]]] = {
    "lines": lines.read,
    "tsv": tables.read_delimited,
    "csv": tables.read_delimited,
    "jsonl": tables.read_json_lines,
    "parquet": tables.read_parquet,
    "tmx": xml.read_tmx,
    "xliff": xml.read_xliff,
    "wmt": xml.read_wmt,
    "sgm": xml.read_sgm,
    "tfds": datasets.read_tfds,
    "huggingface": datasets.read_hugging_face,
}

# How many records there are in each part that can be read by itself.
SIZES: Mapping[str, Callable[[TextInput], list[int]]] = {
    "parquet": tables.parquet_sizes,
    "tfds": datasets.tfds_sizes,
}
