"""Paths and globs, on this machine or in any file system of Beam, and public test
sets by name."""

from __future__ import annotations

import glob
from pathlib import Path

from components.ingest.sources import public_test_sets
from models.errors import UserError

_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar")


def is_remote(path: str) -> bool:
    """Whether a path names its file system, as ``gs://bucket/file`` does."""
    return "://" in path


def expand(where: str, pattern: str, base: Path) -> list[str]:
    """The files that a path, glob or name stands for, sorted by name.

    Args:
      where: Key in the experiment file, for messages.
      pattern: Path or glob, relative to ``base`` or remote, or the name of one side
        of a public test set.
      base: Folder that relative paths start from.

    Returns:
      At least one path.

    Raises:
      UserError: There is no such file, or it is a folder or an archive.
    """
    if pattern.startswith(public_test_sets.SCHEME):
        return public_test_sets.expand(where, pattern)
    if pattern.endswith(_ARCHIVES) or ".tar." in pattern:
        raise UserError(
            f"{where}: {pattern} is an archive; unpack it and name the files in it"
        )
    return (
        _remote(where, pattern) if is_remote(pattern) else _here(pattern, base, where)
    )


def shown(path: str, base: Path) -> str:
    """A file as the dead letters name it: relative to ``base`` where it can be."""
    if is_remote(path):
        return path
    try:
        return Path(path).relative_to(base).as_posix()
    except ValueError:
        return Path(path).as_posix()


def same(one: str, other: str) -> bool:
    """Whether two paths are one file."""
    if is_remote(one) or is_remote(other):
        return one == other
    return Path(one).resolve() == Path(other).resolve()


def digest(path: str) -> str:
    """What tells whether a remote file is still the same: the checksum that its file
    system keeps, and its size.

    Raises:
      UserError: The file system does not answer.
    """
    from apache_beam.io.filesystem import BeamIOError
    from apache_beam.io.filesystems import FileSystems

    try:
        (match,) = FileSystems.match([path])
        size = match.metadata_list[0].size_in_bytes
        return f"{FileSystems.checksum(path)}/{size}"
    except (BeamIOError, IndexError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _here(pattern: str, base: Path, where: str) -> list[str]:
    path = base / pattern
    if path.is_dir():
        raise UserError(f"{where}: {path} is a folder, expected a file or a glob")
    if path.is_file():
        return [str(path)]
    found = sorted(glob.glob(pattern, root_dir=base, recursive=True))
    files = [str(base / name) for name in found if (base / name).is_file()]
    if not files:
        raise UserError(
            f"{where}: no file {path}; paths are relative to the experiment file"
        )
    return files


def _remote(where: str, pattern: str) -> list[str]:
    from apache_beam.io.filesystem import BeamIOError
    from apache_beam.io.filesystems import FileSystems

    try:
        (match,) = FileSystems.match([pattern])
    except (BeamIOError, ValueError) as error:
        scheme = pattern.partition("://")[0]
        extra = {"gs": "gcp", "s3": "aws", "azfs": "azure", "hdfs": "hadoop"}
        needed = f"pip install 'apache-beam[{extra.get(scheme, 'gcp')}]'"
        raise UserError(
            f"{where}: {pattern}: cannot be listed: {' '.join(str(error).split())}; "
            f"{scheme}:// needs {needed} and the right to read"
        ) from error
    files = sorted(found.path for found in match.metadata_list)
    if not files:
        raise UserError(f"{where}: no file {pattern}")
    return files
