"""From the configuration to the list of things to read, checked before any work."""

from __future__ import annotations

import dataclasses
import glob
from pathlib import Path

from components.ingest.config import ORIGINS, Config, TextTask
from components.ingest.synthetic import check_tasks
from components.text_shards import IN_DOMAIN, TRAIN
from models.errors import UserError

_UNREADABLE = (".zip", ".tar", ".tgz", ".zst", ".7z", ".tmx", ".parquet")


@dataclasses.dataclass(frozen=True)
class TextInput:
    """Two line-aligned files.

    Attributes:
      task: The task the pairs belong to.
      split: ``train`` or the name of a test set.
      source: The source file.
      target: The target file.
      name: The source file as the dead letters name it.
      origin: ``source``, ``target``, ``mixed``, or the path of a file that says
        so line by line.
    """

    task: str
    split: str
    source: Path
    target: Path
    name: str
    origin: str = ""


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
      UserError: A file is missing, is a folder, or has no counterpart.
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
        found += _task_inputs(task, config.text[task], base)
    return found


def files_of(inputs: list[TextInput] | list[SyntheticInput]) -> dict[str, Path]:
    """Every file that is read, by a name that says what for."""
    files: dict[str, Path] = {}
    for entry in inputs:
        if isinstance(entry, SyntheticInput):
            continue
        label = f"{entry.task}/{entry.split}/{entry.name}"
        files[f"{label}/source"] = entry.source
        files[f"{label}/target"] = entry.target
        if entry.origin and entry.origin not in ORIGINS:
            files[f"{label}/origin"] = Path(entry.origin)
    return files


def _task_inputs(task: str, text: TextTask, base: Path) -> list[TextInput]:
    where = f"ingest.text.{task}"
    inputs = _paired(where, task, TRAIN, text.source, text.target, base)
    for name, test in sorted(text.test_sets.items()):
        place = f"{where}.test_sets.{name}"
        pairs = _paired(place, task, name, test.source, test.target, base)
        origin = test.origin
        if origin not in ORIGINS:
            if len(pairs) > 1:
                raise UserError(f"{place}.origin: a file needs one pair of files")
            origin = str(_match(f"{place}.origin", origin, base)[0])
        inputs += [dataclasses.replace(pair, origin=origin) for pair in pairs]
    return inputs


def _paired(
    where: str, task: str, split: str, source: str, target: str, base: Path
) -> list[TextInput]:
    sources = _match(f"{where}.source", source, base)
    targets = _match(f"{where}.target", target, base)
    if len(sources) != len(targets):
        raise UserError(
            f"{where}: {source} matches {len(sources)} files and {target} matches "
            f"{len(targets)}; expected as many"
        )
    for one, other in zip(sources, targets, strict=True):
        if one.resolve() == other.resolve():
            raise UserError(
                f"{where}: source and target are the same file, {one}; "
                "expected the two sides of a translation"
            )
    return [
        TextInput(task, split, one, other, _shown(one, base))
        for one, other in zip(sources, targets, strict=True)
    ]


def _match(where: str, pattern: str, base: Path) -> list[Path]:
    path = base / pattern
    if path.suffix in _UNREADABLE:
        raise UserError(
            f"{where}: {pattern}: {path.suffix} files cannot be read; "
            "expected plain text, gz, bz2 or xz"
        )
    if path.is_dir():
        raise UserError(f"{where}: {path} is a folder, expected a file or a glob")
    if path.is_file():
        return [path]
    found = sorted(glob.glob(pattern, root_dir=base, recursive=True))
    files = [base / name for name in found if (base / name).is_file()]
    if not files:
        raise UserError(
            f"{where}: no file {path}; paths are relative to the experiment file"
        )
    return files


def _shown(path: Path, base: Path) -> str:
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.as_posix()
