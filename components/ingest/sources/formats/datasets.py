"""Datasets of TensorFlow Datasets and, where it is installed, of Hugging Face."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.ingest.batch import BATCH
from components.ingest.sources.formats import records
from components.ingest.sources.inputs import SAVED, Pair, TextInput, is_prepared
from models.errors import UserError

PART_EXAMPLES = 100_000


def read_tfds(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a part of a dataset; the place is the example's number.

    Raises:
      UserError: The library or the dataset is not there, or has no such fields.
    """
    builder = _builder(entry)
    import tensorflow as tf
    import tensorflow_datasets as tfds

    first = 0 if entry.part is None else entry.part[0]
    # One file after the other: then an example's number says where it stands.
    config = tfds.ReadConfig(interleave_cycle_length=1)
    data = builder.as_dataset(
        split=dict(_parts(entry, builder))[first],
        read_config=config,
        shuffle_files=False,
    )
    names = list(_names(builder.info.features))
    try:
        rows = map(_plain, tfds.as_numpy(data))
        yield from records.pairs(entry, names, rows, first)
    except tf.errors.OpError as error:
        raise UserError(
            f"{entry.name}: cannot be read to its end: "
            f"{' '.join(error.message.split())}"
        ) from error


def tfds_sizes(entry: TextInput) -> list[int]:
    """Examples of each part that is read by itself.

    Raises:
      UserError: The library, the dataset or its split is not there.
    """
    builder = _builder(entry)
    splits = builder.info.splits
    return [splits[part].num_examples for _, part in _parts(entry, builder)]


def _parts(entry: TextInput, builder: Any) -> Iterator[tuple[int, Any]]:
    """The parts of a split that are read by themselves, each with its first example."""
    import tensorflow_datasets as tfds

    split, start = entry.corpus.dataset.split, 0
    examples = builder.info.splits[split].num_examples
    count = max(1, math.ceil(examples / PART_EXAMPLES))
    for part in tfds.even_splits(split, count):
        yield start, part
        start += builder.info.splits[part].num_examples


def _builder(entry: TextInput) -> Any:
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise UserError(
            f"{entry.name}: TensorFlow Datasets is not installed ({error}); "
            "pip install tensorflow tensorflow-datasets"
        ) from error
    name, options = entry.paths[0], entry.corpus.dataset
    try:
        if is_prepared(Path(name)):
            builder = tfds.builder_from_directory(name)
        else:
            builder = tfds.builder(name, data_dir=options.folder)
    except (tfds.core.DatasetNotFoundError, FileNotFoundError, ValueError) as error:
        # The library then lists all it knows, which are hundreds.
        reason, _, _ = " ".join(str(error).split()).partition(" Available datasets")
        raise UserError(f"{entry.name}: no such dataset: {reason[:300]}") from error
    if not (is_prepared(Path(str(builder.data_path))) or builder.is_prepared()):
        if not options.download:
            raise UserError(
                f"{entry.name}: not prepared in {builder.data_path}; set "
                "dataset.folder to where it is, or dataset.download: true"
            )
        builder.download_and_prepare()
    _check_split(entry, options.split.partition("[")[0], builder.info.splits)
    return builder


def read_hugging_face(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a dataset; the place is the number of the example.

    Raises:
      UserError: The library, the dataset or its split is not there, or it has no
        such fields.
    """
    data = _hugging_face(entry)
    rows = (
        _plain(dict(zip(columns, row, strict=True)))
        for columns in data.iter(batch_size=BATCH)
        for row in zip(*columns.values(), strict=True)
    )
    yield from records.pairs(entry, list(_names(data.features)), rows)


def _hugging_face(entry: TextInput) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            f"{entry.name}: Hugging Face datasets is not installed; "
            "pip install datasets"
        ) from error
    name, options = entry.paths[0], entry.corpus.dataset
    try:
        if not any((Path(name) / file).is_file() for file in SAVED):
            return datasets.load_dataset(
                name,
                options.config,
                split=options.split,
                cache_dir=options.folder,
                revision=options.revision,
            )
        data = datasets.load_from_disk(name)
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"{entry.name}: cannot be loaded: {reason}") from error
    if not isinstance(data, Mapping):
        return data
    _check_split(entry, options.split, data)
    return data[options.split]


def _check_split(entry: TextInput, split: str, known: Mapping[str, Any]) -> None:
    if split not in known:
        raise UserError(
            f"{entry.name}: no split {split}; it has {', '.join(known)}"
            f"{records.did_you_mean(split, known)}"
        )


def _names(features: Any, prefix: str = "") -> Iterator[str]:
    """Dotted names of the features, of either library, that hold no further ones."""
    languages = getattr(features, "languages", None)
    if languages:
        yield from (f"{prefix}{language}" for language in languages)
    elif hasattr(features, "items"):
        for name, feature in features.items():
            yield from _names(feature, f"{prefix}{name}.")
    else:
        yield prefix.removesuffix(".")


def _plain(value: Any) -> Any:
    """An example as nested dictionaries; a list of translations into some of many
    languages, by their languages: of several into one, the first."""
    if not isinstance(value, Mapping):
        return value.tolist() if getattr(value, "ndim", 0) else value
    if set(value) != {"language", "translation"}:
        return {name: _plain(item) for name, item in value.items()}
    languages = [
        language.decode() if isinstance(language, bytes) else language
        for language in value["language"]
    ]
    return dict(reversed(list(zip(languages, value["translation"], strict=True))))
