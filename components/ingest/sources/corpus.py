"""Configuration of where parallel text stands; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from components.artifacts.file_path import FilePath
from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from models.errors import FieldError, UserError

ORIGINS = ("source", "target", "mixed")
DETECT = "detect"

Format = Literal[
    "lines", "tsv", "csv", "jsonl", "parquet", "tmx", "xliff", "wmt", "sgm"
]


@dataclasses.dataclass(frozen=True)
class Encodings:
    """The encodings of two line-aligned files.

    Attributes:
      source: Encoding of the source file, ``detect``, or null: see `Corpus`.
      target: Encoding of the target file and of further references.
    """

    source: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_encoding(field.name, getattr(self, field.name))


@dataclasses.dataclass(frozen=True)
class Columns:
    """Which columns of a table, or fields of a record, hold what.

    A column is a name or, in TSV and CSV, a number from 1. Fields of JSON, Parquet
    and datasets may lie deeper: ``translation.en``.

    Attributes:
      source: The source side. Null: the column named as the source language, in
        ``translation`` if there is such a field, or else ``source``.
      target: The target side, likewise.
      origin: A column with the language each sentence was first written in.
      references: Columns with further references.
      document: A column with the document each sentence is from.
      header: Whether the first line of TSV and CSV names the columns. Null: it does
        unless the columns are numbers.
      delimiter: What separates columns; null: a tab in TSV, a comma in CSV.
      quoting: Whether a field may stand in double quotes, over several lines if
        need be. Null: in CSV, and not in TSV, where quotes belong to the text.
    """

    source: int | str | None = None
    target: int | str | None = None
    origin: int | str | None = None
    references: tuple[int | str, ...] = ()
    document: int | str | None = None
    header: bool | None = None
    delimiter: str | None = None
    quoting: bool | None = None

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in ("source", "target", "origin")}
        named["document"] = self.document
        named |= {f"references[{i}]": name for i, name in enumerate(self.references)}
        for field, column in named.items():
            if isinstance(column, int) and column < 1:
                raise FieldError(field, f"{column}: columns are counted from 1")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise FieldError(
                "delimiter", f"{self.delimiter!r} is not one character; expected one"
            )


@dataclasses.dataclass(frozen=True)
class Dataset:
    """Which part of a dataset to read, and where it is.

    Attributes:
      split: Its split, in the words of its library: ``train``, ``train[:10%]``.
      config: Configuration of a Hugging Face dataset, such as ``de-en``.
      folder: Where TensorFlow Datasets keeps its data, or Hugging Face its cache;
        null: where they do by default.
      download: Whether TensorFlow Datasets may download and prepare what is not
        there.
      revision: Revision of a Hugging Face dataset.
    """

    split: str = "train"
    config: str | None = None
    folder: FilePath | None = None
    download: bool = False
    revision: str | None = None


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Parallel text in one of the forms people keep it in.

    Given as one of: ``source`` with ``target``, ``files``, ``tfds``,
    ``huggingface``. Files may be compressed (gz, bz2, xz, zst); paths are relative to
    the experiment file, or lie in any file system of Beam (``gs://``, ``s3://``); a
    glob stands for its files in sorted order.

    Attributes:
      source: Path or glob of the source side: line-aligned text, or WMT's SGM.
      target: Path or glob of the target side; globs are paired in sorted order.
      files: Path or glob of files that hold both sides.
      tfds: A dataset of TensorFlow Datasets, such as ``wmt19_translate/de-en``.
      huggingface: A dataset of Hugging Face, or a folder saved by its library.
      format: What the files are; null: what their ending says.
      columns: Which columns of TSV, CSV, JSON Lines, Parquet or a dataset hold what.
      dataset: Which part of a dataset.
      encoding: A name such as ``iso-8859-15``, ``gb18030`` or ``big5``; ``detect``; a
        section with one for ``source`` and one for ``target``. Null: what the file
        says (byte-order mark, XML declaration), or else UTF-8.
      misaligned: What to do when line-aligned files have different numbers of
        lines: ``stop``, or ``skip`` them: all their lines go to the dead letters.
      keep_fuzzy: Whether to take translations that an XLIFF file calls new or in need
        of work; otherwise they go to the dead letters.
    """

    source: FilePath | None = None
    target: FilePath | None = None
    files: FilePath | None = None
    tfds: str | None = None
    huggingface: str | None = None
    format: Format | None = None
    columns: Columns = Columns()
    dataset: Dataset = Dataset()
    encoding: str | Encodings | None = None
    misaligned: Literal["stop", "skip"] = "stop"
    keep_fuzzy: bool = False

    def __post_init__(self) -> None:
        given = self.given
        if len(given) > 1:
            raise FieldError(
                given[1],
                f"given beside {given[0]}; expected one of them; further text goes "
                "into corpora",
            )
        for one, other in (("source", "target"), ("target", "source")):
            if getattr(self, one) is None and getattr(self, other) is not None:
                raise FieldError(
                    one,
                    f"missing; expected the {one} side of {other}, or else both sides "
                    "in files",
                )
        if isinstance(self.encoding, str):
            _check_encoding("encoding", self.encoding)
        two_files = self.format in ("lines", "sgm")
        if self.source is not None and not (self.format is None or two_files):
            raise FieldError(
                "format",
                f"{self.format} holds both sides in one file; expected files instead "
                "of source and target",
            )
        if self.files is not None and self.format == "lines":
            raise FieldError(
                "format", "lines: one side a file; expected source and target"
            )

    @property
    def given(self) -> list[str]:
        """Which ways of giving text are used; ``source`` stands for both sides."""
        sides = ["source"] if (self.source or self.target) is not None else []
        others = ("files", "tfds", "huggingface")
        return sides + [name for name in others if getattr(self, name) is not None]

    def encoding_of(self, side: str) -> str | None:
        """The declared encoding of the ``source`` or ``target`` file."""
        if isinstance(self.encoding, Encodings):
            return getattr(self.encoding, side)
        return self.encoding


@dataclasses.dataclass(frozen=True)
class TextTestSet(Corpus):
    """A test set: a corpus whose sentences stay in order and out of training.

    Attributes:
      origin: The language the sentences were first written in: ``source``,
        ``target`` or ``mixed`` for all of them, or else the path of a line-aligned
        file that has one of these words or a language code on every line. Null: what
        the data says of each sentence (``origlang``, a column), or else ``mixed``.
      references: Paths of further references, aligned with ``target``.
    """

    origin: FilePath | None = None
    references: tuple[FilePath, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.given:
            raise UserError("no text; " + _EXPECTED)
        if self.references and self.source is None:
            raise FieldError(
                "references",
                "files of further references stand beside source and target; in "
                "tables they are columns.references, and WMT XML carries its own",
            )


@dataclasses.dataclass(frozen=True)
class TextTask(Corpus):
    """The text of one task.

    Attributes:
      corpora: Further text for training, each in a form of its own.
      test_sets: Further test sets by name, beside the held-out ``in_domain``.
    """

    corpora: tuple[Corpus, ...] = ()
    test_sets: Mapping[str, TextTestSet] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.given and not self.corpora:
            raise UserError("no text to train on; " + _EXPECTED + "; or corpora")
        _check_one_reference("", self)
        for index, corpus in enumerate(self.corpora):
            if not corpus.given:
                raise FieldError(f"corpora[{index}]", "no text; " + _EXPECTED)
            _check_one_reference(f"corpora[{index}].", corpus)
        for name in self.test_sets:
            if name in (TRAIN, IN_DOMAIN) or not name.replace("_", "").isalnum():
                raise FieldError(
                    f"test_sets.{name}",
                    "not a name for a test set; expected letters, digits and _, "
                    f"and neither {TRAIN} nor {IN_DOMAIN}",
                )


_EXPECTED = "expected source with target, files, tfds or huggingface"


def _check_one_reference(prefix: str, corpus: Corpus) -> None:
    if corpus.columns.references:
        raise FieldError(
            f"{prefix}columns.references",
            "only test sets have several references; in training text name each "
            "column as the target of a corpus of its own",
        )


def _check_encoding(field: str, name: str | None) -> None:
    if name in (None, DETECT):
        return
    try:
        if b"\n" in "\n".encode(name):
            return
    except (LookupError, UnicodeError):
        pass
    raise FieldError(
        field,
        f"{name!r} is no encoding of text files; expected a name such as utf-8, "
        f"iso-8859-15, gb18030 or big5, or {DETECT}",
    )
