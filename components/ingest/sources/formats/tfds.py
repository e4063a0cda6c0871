"""TensorFlow Datasets: any builder with texts in two languages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.ingest.sources.dataset_files import is_prepared
from components.ingest.sources.formats import fields
from components.ingest.sources.formats.pair import Pair
from components.ingest.sources.inputs import TextInput
from models.errors import UserError

PART_EXAMPLES = 100_000


def read(entry: TextInput) -> Iterator[Pair]:
    """The pairs of a dataset, or of a part of it; the place is the example's number.

    Raises:
      UserError: The library or the dataset is not there, or has no such fields.
    """
    builder = _builder(entry)
    import tensorflow as tf
    import tensorflow_datasets as tfds

    variable = dict(_variable_languages(tfds, builder.info.features))
    names = list(_names(tfds, builder.info.features, variable))
    wanted = fields.find(entry, names, entry.name)
    number = entry.part[0] if entry.part else 0
    # One file after the other: then an example's number says where it stands.
    config = tfds.ReadConfig(interleave_cycle_length=1)
    try:
        data = builder.as_dataset(
            split=_instruction(entry, builder), read_config=config, shuffle_files=False
        )
        for record in tfds.as_numpy(data):
            number += 1
            yield fields.pair_of(_plain(record, variable), number, wanted)
    except tf.errors.OpError as error:
        raise UserError(
            f"{entry.name}: cannot be read beyond example {number}: "
            f"{' '.join(error.message.split())}"
        ) from error


def sizes(entry: TextInput) -> list[int]:
    """Examples of each part that is read by itself.

    Raises:
      UserError: The library, the dataset or its split is not there.
    """
    builder = _builder(entry)
    return [builder.info.splits[part].num_examples for part in _parts(entry, builder)]


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
        reason = reason[:300]
        raise UserError(f"{entry.name}: no such dataset: {reason}") from error
    if not (is_prepared(Path(str(builder.data_path))) or builder.is_prepared()):
        if not options.download:
            raise UserError(
                f"{entry.name}: not prepared in {builder.data_path}; set "
                "dataset.folder to where it is, or dataset.download: true"
            )
        builder.download_and_prepare()
    if options.split.partition("[")[0] not in builder.info.splits:
        known = list(builder.info.splits)
        raise UserError(
            f"{entry.name}: no split {options.split}; it has {', '.join(known)}"
            f"{fields.did_you_mean(options.split, known)}"
        )
    return builder


def _parts(entry: TextInput, builder: Any) -> list[Any]:
    import tensorflow_datasets as tfds

    split = entry.corpus.dataset.split
    examples = builder.info.splits[split].num_examples
    count = max(1, math.ceil(examples / PART_EXAMPLES))
    return tfds.even_splits(split, count)


def _instruction(entry: TextInput, builder: Any) -> Any:
    """What to read: the whole split, or the part that begins where asked."""
    if entry.part is None:
        return entry.corpus.dataset.split
    start = 0
    for part in _parts(entry, builder):
        if start == entry.part[0]:
            return part
        start += builder.info.splits[part].num_examples
    raise RuntimeError(f"{entry.name}: no part begins at example {entry.part[0]}")


def _variable_languages(
    tfds: Any, features: Any, prefix: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """Dotted names of features that have texts in some of many languages each."""
    if isinstance(features, tfds.features.TranslationVariableLanguages):
        yield prefix.removesuffix("."), list(features.languages)
    elif isinstance(features, tfds.features.FeaturesDict):
        for name, feature in features.items():
            yield from _variable_languages(tfds, feature, f"{prefix}{name}.")


def _names(
    tfds: Any, features: Any, variable: Mapping[str, list[str]], prefix: str = ""
) -> Iterator[str]:
    here = prefix.removesuffix(".")
    if here in variable:
        yield from (f"{prefix}{language}" for language in variable[here])
    elif isinstance(features, tfds.features.FeaturesDict):
        for name, feature in features.items():
            yield from _names(tfds, feature, variable, f"{prefix}{name}.")
    else:
        yield here


def _plain(
    value: Any, variable: Mapping[str, list[str]], prefix: str = ""
) -> dict[str, Any]:
    """An example as nested dictionaries, texts by their languages.

    Of several translations into one language the first is taken.
    """
    if prefix.removesuffix(".") in variable:
        languages = [language.decode() for language in value["language"]]
        texts = zip(languages, value["translation"], strict=True)
        return dict(reversed(list(texts)))
    found = {}
    for name, item in value.items():
        nested = isinstance(item, Mapping)
        found[name] = _plain(item, variable, f"{prefix}{name}.") if nested else item
        if not nested and getattr(item, "ndim", 0):
            found[name] = item.tolist()
    return found
