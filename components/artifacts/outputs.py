"""Where results may be written: nothing that this package did not make is removed.

A step fills a working folder beside its output and renames it when it is complete. An
output folder that exists is replaced only if it is empty or holds an artifact and
nothing else; the artifact's manifest lists its files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from models.errors import UserError

MANIFEST = "manifest.json"
# Marks a working folder, so that one left by a killed process can be told from a
# folder of the user's with the same name.
_MARKER = ".polyscale-working-folder"
# Inside an artifact's folder: states from which an unfinished step goes on.
PROGRESS = ".progress"
_SHOWN = 3


def files_in(folder: Path) -> list[str]:
    """Relative paths of what a folder holds, sorted; nested artifacts list their own.

    Links count as files: they are never followed.
    """
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if not (Path(entry.path) / MANIFEST).is_file():
                inside = files_in(Path(entry.path)) or [""]
                found += [f"{entry.name}/{name}" for name in inside]
        elif entry.name not in (MANIFEST, _MARKER):
            found.append(entry.name)
    return sorted(found)


def foreign_files(folder: Path) -> list[str]:
    """Relative paths in a folder that no manifest in it lists."""
    found = set(files_in(folder)) - _listed(folder)
    if (folder / MANIFEST).exists() and not _is_manifest(folder):
        found.add(MANIFEST)
    for nested in _nested_artifacts(folder):
        inside = nested.relative_to(folder).as_posix()
        found |= {f"{inside}/{name}" for name in foreign_files(nested)}
    return sorted(found)


def check_replaceable(output: Path) -> None:
    """Raises ``UserError`` unless ``output`` is free, empty or an artifact alone."""
    check_local(output)
    advice = "nothing was changed; name a folder that is new, empty, or an artifact"
    if output.is_symlink():
        raise UserError(f"{output}: is a link; {advice}")
    if not output.exists():
        return _check_parent(output)
    if not output.is_dir():
        raise UserError(f"{output}: is a file; {advice}")
    if os.path.ismount(output):
        raise UserError(f"{output}: is a mount point; {advice} inside it")
    if output.resolve() in (here := Path.cwd().resolve(), *here.parents):
        raise UserError(f"{output}: the current folder is in it; {advice}")
    if foreign := foreign_files(output):
        more = len(foreign) - _SHOWN
        names = ", ".join(foreign[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        raise UserError(
            f"{output}: holds files that are not results: {names}; {advice}"
        )


def check_local(path: Path) -> None:
    """Raises ``UserError`` for ``gs://...`` and the like, which no folder here is."""
    scheme = path.parts[0].removesuffix(":") if path.parts else ""
    if len(scheme) > 1 and path.parts[0].endswith(":") and not path.exists():
        raise UserError(
            f"{path}: results are written to this machine only; name a folder here "
            f"and copy it to {scheme}:// afterwards"
        )


@contextlib.contextmanager
def working_folder(output: Path) -> Iterator[Path]:
    """A folder beside ``output`` that takes its place when the block ends well.

    What a killed process left there is removed first; after an exception nothing
    is left.

    Raises:
      UserError: ``output`` holds something that must not be removed.
    """
    output = Path(os.path.abspath(output))
    check_replaceable(output)
    working = output.with_name(f".{output.name}.tmp")
    _clear(working)
    working.mkdir(parents=True)
    (working / _MARKER).touch()
    try:
        yield working
        check_replaceable(output)  # it may have changed in the meantime
        _put_in_place(working, output)
    except BaseException:
        shutil.rmtree(working, ignore_errors=True)
        raise


def remove_artifact(folder: Path) -> None:
    """Removes the files that the manifests in ``folder`` list, and emptied folders.

    Work in progress goes too; whatever else is in the folder stays.
    """
    if not folder.is_dir() or folder.is_symlink():
        return
    shutil.rmtree(folder / PROGRESS, ignore_errors=True)
    for nested in _nested_artifacts(folder):
        remove_artifact(nested)
    if not _is_manifest(folder):
        return
    # The manifest goes first: without it the folder is no artifact any more.
    listed = _listed(folder)
    (folder / MANIFEST).unlink()
    for name in sorted(listed, reverse=True):
        path = folder / name
        with contextlib.suppress(OSError):
            path.rmdir() if name.endswith("/") else path.unlink()
        for parent in path.relative_to(folder).parents:
            with contextlib.suppress(OSError):
                (folder / parent).rmdir()


def check_file(path: Path, text: str) -> None:
    """Raises ``UserError`` unless a result may be written to ``path``.

    An existing file is replaced only if it is empty or a result of the same form:
    a CSV with the same header, or JSON with the same keys.
    """
    check_local(path)
    advice = "nothing was changed; name a new file"
    if path.is_symlink():
        raise UserError(f"{path}: is a link; {advice}")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; {advice}")
    if not path.exists():
        return
    if not path.is_file():
        return  # a device or a pipe, such as /dev/stdout
    if path.name in _listed(path.parent):
        raise UserError(f"{path}: belongs to the results in {path.parent}; {advice}")
    try:
        old = path.read_text(encoding="utf-8")
    except ValueError:
        old = "\0"
    if old and _form(old) != _form(text):
        raise UserError(f"{path}: exists and holds something else; {advice}")


def deliver(text: str, out: Path | None) -> None:
    """Writes a result to a file, whole or not at all, or to standard output.

    Raises:
      UserError: The file cannot be written, or holds something else.
    """
    if out is None:
        sys.stdout.write(text)
        return
    try:
        check_file(out, text)
        if out.exists() and not out.is_file():
            out.write_text(text, encoding="utf-8")
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written: {error.strerror}") from None


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file so that a reader sees the old or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _form(text: str) -> object:
    """What tells one kind of result from another: keys of JSON, header of a table."""
    if text.lstrip().startswith("{"):
        with contextlib.suppress(ValueError):
            return sorted(json.loads(text))
    return text.partition("\n")[0].strip()


def _check_parent(output: Path) -> None:
    parent = output.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        raise UserError(f"{output}: {parent} is a file, not a folder")
    if not os.access(parent, os.W_OK):
        raise UserError(f"{output}: no permission to write in {parent}")


def _clear(working: Path) -> None:
    """Removes a working folder that a killed process left, and only such a one."""
    if not working.is_symlink() and not working.exists():
        return
    ours = working.is_dir() and not working.is_symlink()
    if ours and ((working / _MARKER).is_file() or not any(working.iterdir())):
        shutil.rmtree(working)
        return
    raise UserError(f"{working}: in the way of a temporary folder; move it elsewhere")


def _put_in_place(working: Path, output: Path) -> None:
    """Renames ``working`` to ``output``, moving an old artifact out of the way."""
    retired = output.with_name(f".{output.name}.old")
    _clear(retired)
    if output.exists():
        (output / _MARKER).touch()
        os.replace(output, retired)
    try:
        # Nobody writes there any more: what came since the check is seen now.
        if retired.exists() and (foreign := foreign_files(retired)):
            raise UserError(f"{output}: {foreign[0]} came while it was made again")
        (working / _MARKER).unlink()
        os.replace(working, output)
    except BaseException:
        if retired.exists():
            os.replace(retired, output)
            (output / _MARKER).unlink(missing_ok=True)
        raise
    shutil.rmtree(retired, ignore_errors=True)


def _nested_artifacts(folder: Path) -> list[Path]:
    """Folders inside that have a manifest, and are not inside another such folder."""
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            path = Path(entry.path)
            nested = (path / MANIFEST).is_file()
            found += [path] if nested else _nested_artifacts(path)
    return sorted(found)


def _manifest(folder: Path) -> dict:
    try:
        record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    named = isinstance(record, dict) and record.get("format") == "polyscale.manifest"
    return record if named else {}


def _is_manifest(folder: Path) -> bool:
    return bool(_manifest(folder))


def _listed(folder: Path) -> set[str]:
    return set(_manifest(folder).get("files", ()))
