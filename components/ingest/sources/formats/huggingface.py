"""Hugging Face ``datasets``, where they are installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.ingest.batch import BATCH
from components.ingest.sources.dataset_files import SAVED
from components.ingest.sources.formats import fields
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from models.errors import UserError


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a dataset; the place is the number of the example.

    Raises:
      UserError: The library, the dataset or its split is not there, or it has no
        such fields.
    """
    data = _load(entry)
    wanted = fields.find(entry, list(_names(data.features)), entry.name)
    number = 0
    for columns in data.iter(batch_size=BATCH):
        for values in zip(*columns.values(), strict=True):
            number += 1
            record = dict(zip(columns, map(_plain, values), strict=True))
            yield fields.pair_of(record, number, wanted)


def _load(entry: TextInput) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            f"{entry.name}: Hugging Face datasets is not installed; "
            "pip install datasets"
        ) from error
    name, options = entry.paths[0], entry.corpus.dataset
    saved = any((Path(name) / file).is_file() for file in SAVED)
    try:
        if not saved:
            return datasets.load_dataset(
                name,
                options.config,
                split=options.split,
                cache_dir=options.folder,
                revision=options.revision,
            )
        data = datasets.load_from_disk(name)
        if isinstance(data, Mapping):
            return data[options.split]
        return data
    except KeyError:
        raise UserError(
            f"{entry.name}: no split {options.split}; it has {', '.join(data)}"
        ) from None
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"{entry.name}: cannot be loaded: {reason}") from error


def _names(features: Any, prefix: str = "") -> Iterator[str]:
    languages = getattr(features, "languages", None)
    if languages:
        yield from (f"{prefix}{language}" for language in languages)
    elif isinstance(features, Mapping):
        for name, feature in features.items():
            yield from _names(feature, f"{prefix}{name}.")
    else:
        yield prefix.removesuffix(".")


def _plain(value: Any) -> Any:
    """Texts by their languages, also where an example has some of many."""
    if isinstance(value, Mapping) and set(value) == {"language", "translation"}:
        texts = zip(value["language"], value["translation"], strict=True)
        return dict(reversed(list(texts)))
    return value
