"""Artifacts: folders that are either whole and described, or not there.

An artifact is written under a temporary name beside its final place and renamed
when it is complete; its last file is ``manifest.json``. The manifest's ``key``
is a digest of everything the artifact is a function of: the verb, its resolved
configuration, the keys (or content digests) of its inputs and the version of
this package. A step whose key matches is skipped, so a change reruns exactly
what depends on it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts.outputs import (
    MANIFEST,
    files_in,
    working_folder,
    write_atomically,
)
from components.version import VERSION

log = logging.getLogger(__name__)

FILE_NAME = MANIFEST
_FORMAT = "polyscale.manifest"
_PACKAGES = (
    "apache-beam",
    "keras",
    "numpy",
    "scipy",
    "sentencepiece",
    "tensorflow",
)


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What an artifact is and how it came to be.

    Attributes:
      verb: The step that made it.
      key: Digest of everything it is a function of.
      inputs: Name of each input -> its key or content digest.
      config: The step's resolved configuration.
      packages: Versions of the packages that can change the result.
      counts: Whatever the step counts (records read, trials done, ...).
      seconds: Wall time of the step that made it, 0 < seconds.
      files: Relative paths of what belongs to it; nested artifacts list their own.
      code: Digest of the code that made it, see `code_of`.
    """

    verb: str
    key: str
    inputs: Mapping[str, str]
    config: Any
    packages: Mapping[str, str]
    counts: Mapping[str, Any]
    seconds: float
    files: Sequence[str] = ()
    code: str = ""


def plain(value: Any) -> Any:
    """A configuration as JSON values, stable across runs."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_input(path: Path) -> str:
    """An artifact's key, or the content digest of a plain file."""
    if (path / FILE_NAME).is_file():
        return load(path).key
    return digest_file(path)


def key_of(verb: str, config: Any, inputs: Mapping[str, str]) -> str:
    """Digest of everything an artifact is a function of."""
    described = {
        "verb": verb,
        "version": VERSION,
        "config": plain(config),
        "inputs": dict(inputs),
    }
    text = json.dumps(described, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def load(directory: Path) -> Manifest:
    """The manifest of a complete artifact."""
    record = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    names = [f.name for f in dataclasses.fields(Manifest) if f.name in record]
    return Manifest(**{name: record[name] for name in names})


def is_current(directory: Path, key: str) -> bool:
    """Whether ``directory`` holds a complete artifact with this key."""
    try:
        return load(directory).key == key
    except (OSError, TypeError, ValueError):
        return False


def kept(verb: str, directory: Path) -> Manifest:
    """The manifest of an artifact that is current, and a line that says so.

    The code of this package is no part of the key: an edit of ours does not throw
    away what took hours. The line says where another state of the code made it.
    """
    manifest = load(directory)
    if manifest.code in ("", code_of(verb)):
        log.info("%s: up to date", verb)
    else:
        log.info("%s: up to date, but other code made it; --force makes it again", verb)
    return manifest


@functools.cache
def code_of(verb: str) -> str:
    """Digest of the code that a step runs: its room, its models, what steps share."""
    laws = verb in ("fit", "recommend", "report")
    rooms = (
        f"components/{verb.partition('-')[0]}", "components/artifacts",
        "components/engines", "models/laws" if laws else "models/nmt",
    )  # fmt: skip
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for room in rooms:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def seal(
    directory: Path,
    *,
    verb: str,
    config: Any,
    inputs: Mapping[str, str],
    counts: Mapping[str, Any],
    seconds: float,
) -> Manifest:
    """Writes ``manifest.json`` last: from here on the folder is an artifact."""
    manifest = Manifest(
        verb=verb,
        key=key_of(verb, config, inputs),
        inputs=dict(inputs),
        config=plain(config),
        packages=_package_versions(),
        counts=plain(counts),
        seconds=round(seconds, 3),
        files=files_in(directory),
        code=code_of(verb),
    )
    record = {"format": _FORMAT, "version": 1, **dataclasses.asdict(manifest)}
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_atomically(directory / FILE_NAME, text + "\n")
    return manifest


def complete(
    verb: str,
    output: Path,
    *,
    config: Any,
    inputs: Mapping[str, Path],
    make: Callable[[Path], Mapping[str, Any]],
    digests: Mapping[str, str] | None = None,
) -> Manifest:
    """Makes an artifact unless the one that is there is current.

    Args:
      verb: The step's name.
      output: The artifact's folder.
      config: The step's frozen ``Config``.
      inputs: Name -> artifact folder or file that the step reads.
      make: Fills the folder it is given and returns counts for the manifest.
      digests: Name -> digest of inputs that are not on this machine.

    Returns:
      The manifest of the artifact at ``output``.

    Raises:
      UserError: ``output`` holds something that must not be replaced.
    """
    digests = dict(digests or {})
    digests |= {name: digest_input(path) for name, path in sorted(inputs.items())}
    if is_current(output, key_of(verb, config, digests)):
        return kept(verb, output)
    with working_folder(output) as folder:
        started = time.monotonic()
        counts = make(folder)
        return seal(
            folder,
            verb=verb,
            config=config,
            inputs=digests,
            counts=counts,
            seconds=time.monotonic() - started,
        )


def _package_versions() -> dict[str, str]:
    found = {"polyscale": VERSION}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
