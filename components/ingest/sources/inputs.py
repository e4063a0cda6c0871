"""From the configuration to the list of things to read, checked before any work."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.ingest.config import Config, Corpus, TextTask, TextTestSet
from components.ingest.sources import languages, places
from components.ingest.sources.corpus import ORIGINS
from components.ingest.sources.synthetic import check_tasks
from models.errors import UserError

TFDS = "tfds"
HUGGING_FACE = "huggingface"
LINES = "lines"
SGM = "sgm"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
SAVED = ("dataset_info.json", "dataset_dict.json", "state.json")  # by Hugging Face
_TFDS_INFO = "dataset_info.json"
_PAIR_BYTES = 100  # of an everyday pair of sentences
_PACKING = 3  # times that compressed text is larger
_FORMAT_OF = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".xml": "wmt",
    ".sgm": SGM,
    ".sgml": SGM,
}


class Pair(NamedTuple):
    """A pair and what its file says of it.

    Attributes:
      line: Line it begins on, or number of the record, from 1; rising.
      source: Source side, empty where there is none.
      target: Target side, likewise.
      fault: The rule that rejects it before any other, or empty.
      origin: Code of the language it was first written in, or ``source``,
        ``target`` or ``mixed``; empty where unknown.
      details: ``references`` (all of them, the target first), ``document``, ...
    """

    line: int
    source: str
    target: str
    fault: str = ""
    origin: str = ""
    details: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class TextInput:
    """Something to read: the files of one source of pairs, or a dataset.

    Attributes:
      task: The task the pairs belong to.
      split: ``train`` or the name of a test set.
      name: As the dead letters name it: the file, of two the source file.
      format: See `components.ingest.sources.corpus.Corpus`; also ``tfds`` and
        ``huggingface``.
      paths: The file; source, target and further references where each side has a
        file of its own; or the name of the dataset.
      corpus: How to read it.
      origin: ``source``, ``target``, ``mixed``, or the path of a file that says so
        line by line; empty where the data itself may know.
      part: The records from one number up to another (without it), counted from 0;
        None for all.
    """

    task: str
    split: str
    name: str
    format: str
    paths: tuple[str, ...]
    corpus: Corpus = Corpus()
    origin: str = ""
    part: tuple[int, int] | None = None

    @property
    def origin_file(self) -> bool:
        """Whether `origin` is a file that names the origin of every line."""
        return bool(self.origin) and self.origin not in ORIGINS


@dataclasses.dataclass(frozen=True)
class SyntheticInput:
    """One shard of the synthetic source; the attributes as in `TextInput`."""

    task: str
    split: str
    index: int

    @property
    def name(self) -> str:
        return f"synthetic/{self.split}-{self.index:05d}"


def list_inputs(
    config: Config, base: Path, tasks: tuple[str, ...]
) -> list[TextInput] | list[SyntheticInput]:
    """What there is to read, in an order that does not depend on the file system.

    Args:
      config: The step's configuration.
      base: Folder that relative paths start from.
      tasks: Directions such as ``en-de``.

    Raises:
      UserError: A file is missing, is a folder, has no counterpart or is of no
        known format.
    """
    if config.source == "synthetic":
        check_tasks(tasks)
        return [
            SyntheticInput(task, split, index)
            for task in sorted(tasks)
            for split in (TRAIN, IN_DOMAIN)
            for index in range(config.synthetic.shards(split))
        ]
    found: list[TextInput] = []
    for task in sorted(tasks):
        if task not in config.text:
            named = ", ".join(config.text) or "nothing"
            raise UserError(
                f"ingest.text: no files for task {task}; it names {named}; "
                f"add ingest.text.{task} with source and target"
            )
        languages.check(task)
        found += _task_inputs(task, config.text[task], base)
    return found


def files_of(inputs: list[TextInput] | list[SyntheticInput]) -> dict[str, str]:
    """Every file that is read, by a name that says what for."""
    files: dict[str, str] = {}
    for number, entry in enumerate(inputs):
        if isinstance(entry, SyntheticInput):
            continue
        paths = [*entry.paths, *([entry.origin] if entry.origin_file else [])]
        if entry.format in (TFDS, HUGGING_FACE):
            paths = _described_by(entry)
        label = f"{entry.task}/{entry.split}/{number}/{entry.name}"
        files |= {f"{label}/{i}": path for i, path in enumerate(paths)}
    return files


def about_pairs(
    config: Config, inputs: Sequence[TextInput] | Sequence[SyntheticInput]
) -> int:
    """About how many pairs there are, by the size of the files on this machine."""
    if config.source == "synthetic":
        tasks = {entry.task for entry in inputs}
        return len(tasks) * config.synthetic.train_sentences
    sizes = [
        os.path.getsize(path) * (_PACKING if path.endswith(COMPRESSED) else 1)
        for entry in inputs
        for path in entry.paths
        if os.path.isfile(path)
    ]
    return sum(sizes) // _PAIR_BYTES


def is_prepared(path: Path) -> bool:
    """Whether a folder is one version of a dataset of TensorFlow Datasets."""
    return (path / _TFDS_INFO).is_file()


def _described_by(entry: TextInput) -> list[str]:
    """The files that say which data a dataset is (sizes, checksums, a fingerprint):
    its name may stand for other data tomorrow."""
    folder, names = Path(entry.paths[0]), SAVED
    if entry.format == TFDS:
        names = (_TFDS_INFO,)
        if not is_prepared(folder):
            usual = Path.home() / "tensorflow_datasets"
            kept = os.environ.get("TFDS_DATA_DIR") or usual
            root = Path(entry.corpus.dataset.folder or kept)
            folder = root / entry.paths[0].partition(":")[0]
    return sorted(str(path) for name in names for path in folder.rglob(name))


def _task_inputs(task: str, text: TextTask, base: Path) -> list[TextInput]:
    where = f"ingest.text.{task}"
    inputs = _corpus_inputs(where, task, TRAIN, text, base)
    for index, corpus in enumerate(text.corpora):
        place = f"{where}.corpora[{index}]"
        inputs += _corpus_inputs(place, task, TRAIN, corpus, base)
    for name, test in sorted(text.test_sets.items()):
        inputs += _test_inputs(f"{where}.test_sets.{name}", task, name, test, base)
    return inputs


def _test_inputs(
    where: str, task: str, name: str, test: TextTestSet, base: Path
) -> list[TextInput]:
    inputs = _corpus_inputs(where, task, name, test, base)
    paths = [entry.paths for entry in inputs]
    for i, pattern in enumerate(test.references):
        further = places.expand(f"{where}.references[{i}]", pattern, base)
        if len(further) != len(inputs):
            raise UserError(
                f"{where}.references[{i}]: {pattern} matches {len(further)} "
                f"files, {test.target} {len(inputs)}; expected as many"
            )
        paths = [(*own, path) for own, path in zip(paths, further, strict=True)]
    origin = test.origin or ""
    if origin and origin not in ORIGINS:
        if len(inputs) > 1 or inputs[0].format != LINES:
            raise UserError(
                f"{where}.origin: a file stands beside one pair of line-aligned files; "
                f"expected {', '.join(ORIGINS)}"
            )
        (origin, *_) = places.expand(f"{where}.origin", origin, base)
    return [
        dataclasses.replace(entry, origin=origin, paths=own)
        for entry, own in zip(inputs, paths, strict=True)
    ]


def _corpus_inputs(
    where: str, task: str, split: str, corpus: Corpus, base: Path
) -> list[TextInput]:
    dataset = corpus.tfds or corpus.huggingface
    if dataset is not None:
        return [_dataset(task, split, dataset, corpus, base)]
    if corpus.files is not None:
        paths = places.expand(f"{where}.files", corpus.files, base)
        groups = [(path,) for path in paths]
    elif corpus.source is not None and corpus.target is not None:
        groups = _paired(where, corpus.source, corpus.target, base)
    else:
        return []
    return [
        TextInput(
            task,
            split,
            places.shown(paths[0], base),
            corpus.format or _format_of(where, paths),
            paths,
            corpus,
        )
        for paths in groups
    ]


def _dataset(task: str, split: str, name: str, corpus: Corpus, base: Path) -> TextInput:
    library = TFDS if corpus.tfds else HUGGING_FACE
    # Folders are relative to the experiment file, as files are.
    known = is_prepared if library == TFDS else Path.is_dir
    path = str(base / name) if known(base / name) else name
    options = corpus.dataset
    if options.folder is not None and not places.is_remote(options.folder):
        options = dataclasses.replace(options, folder=str(base / options.folder))
        corpus = dataclasses.replace(corpus, dataset=options)
    label = f"{library}:{name}/{options.split}"
    return TextInput(task, split, label, library, (path,), corpus)


def _paired(where: str, source: str, target: str, base: Path) -> list[tuple[str, str]]:
    sources = places.expand(f"{where}.source", source, base)
    targets = places.expand(f"{where}.target", target, base)
    if len(sources) != len(targets):
        raise UserError(
            f"{where}: {source} matches {len(sources)} files and "
            f"{target} matches {len(targets)}; expected as many"
        )
    for one, other in zip(sources, targets, strict=True):
        if places.same(one, other):
            raise UserError(
                f"{where}: source and target are the same file, {one}; "
                "expected the two sides of a translation"
            )
    return list(zip(sources, targets, strict=True))


def _format_of(where: str, paths: Sequence[str]) -> str:
    """The format that the endings of the files tell: ``lines`` or ``sgm`` where each
    side has a file."""
    found = [_FORMAT_OF.get(_ending(path)) for path in paths]
    if len(paths) == 1 and found[0] is None:
        raise UserError(
            f"{where}.format: missing, and {paths[0]} does not end in one of "
            f"{' '.join(_FORMAT_OF)}; expected a format, or source and target for text "
            "with a file a side"
        )
    if len(paths) == 1:
        return found[0]
    for path, name in zip(paths, found, strict=True):
        if name in ("parquet", "tmx", "xliff", "wmt"):
            raise UserError(
                f"{where}: {path} holds both sides in one file; expected files instead "
                "of source and target, or format: lines if it is plain text"
            )
    return SGM if SGM in found else LINES


def _ending(path: str) -> str:
    name = PurePosixPath(path.lower())
    return (name.with_suffix("") if name.suffix in COMPRESSED else name).suffix
