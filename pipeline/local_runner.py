"""Runs the steps one after the other in this process, on this machine.

A step whose artifact is current costs a look at its manifest, so the same command
continues wherever it was stopped, and does nothing when nothing is left to do.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from components.artifacts import manifest, outputs
from components.duration import duration
from components.engines import cluster
from models.errors import UserError
from pipeline import PACKAGES, steps
from pipeline.steps import Context
from pipeline.upstream import warn_of_changes

log = logging.getLogger(__name__)

LOCK = ".lock"
LOG = "run.log"


def run(context: Context, *, until: str, force: Sequence[str] = ()) -> None:
    """Makes every artifact up to ``until`` that is not current.

    Args:
      context: The experiment and where its artifacts live.
      until: The last verb.
      force: Verbs to do again although they are current, with all that follows
        from them.

    Raises:
      UserError: Another run works in the same folder, or a step found a mistake.
    """
    member = _member(context)
    if not member.is_chief:
        raise UserError(
            f"TF_CONFIG: this is {member.name}; only the chief runs every step, the "
            "other workers `polyscale train`"
        )
    with _exclusive(context.workdir), _logged(context.workdir):
        forget(context.workdir, force)
        started = time.monotonic()
        for step in steps.up_to(context.experiment, until):
            _run_step(step, context)
        log.info("done in %s: %s", duration(time.monotonic() - started), until)


def run_one(context: Context, verb: str, *, force: bool = False) -> None:
    """Makes one artifact from those before it, which must be there.

    Raises:
      UserError: An artifact that the step reads is missing.
    """
    step = steps.get_step(context.experiment, verb)
    for needed in step.needs:
        if not (context.place(needed) / manifest.FILE_NAME).is_file():
            raise UserError(
                f"{context.place(needed)}: not there yet, and {verb} reads it; "
                f"run `polyscale {needed}` first, or `polyscale run --until {verb}` "
                "for everything that is missing"
            )
    warn_of_changes(context, verb)
    member = _member(context) if verb == "train" else cluster.ALONE
    if not member.is_chief:
        # The workers of a cluster share the folder; the chief alone writes there.
        with _exclusive(context.workdir, f"{LOCK}-{member.name}"):
            return _run_step(step, context)
    with _exclusive(context.workdir), _logged(context.workdir):
        forget(context.workdir, (verb,) if force else ())
        _run_step(step, context)


def forget(workdir: Path, verbs: Sequence[str]) -> None:
    """Removes the artifacts of ``verbs`` and of every verb that reads them."""
    for verb in verbs:
        for late in steps.dependents(verb):
            outputs.remove_artifact(workdir / late)


def _member(context: Context) -> cluster.Member:
    return cluster.member(context.experiment.train.strategy)


def _run_step(step: steps.Step, context: Context) -> None:
    before = _key(context.place(step.verb))
    started = time.monotonic()
    if before is None:
        log.info("%s ...", step.verb)
    made = step.run(context)
    if made.key != before:
        log.info("%s: done in %s", step.verb, duration(time.monotonic() - started))


def _key(artifact: Path) -> str | None:
    try:
        return manifest.load(artifact).key
    except (OSError, TypeError, ValueError):
        return None


@contextlib.contextmanager
def _logged(workdir: Path) -> Iterator[None]:
    """Adds what is logged meanwhile to the run's own log."""
    handler = logging.FileHandler(workdir / LOG, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    handler.addFilter(lambda record: record.name.partition(".")[0] in PACKAGES)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    except BaseException as error:
        message = " ".join(str(error).split()) or type(error).__name__
        handler.emit(log.makeRecord(log.name, logging.ERROR, "", 0, message, (), None))
        raise
    finally:
        root.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def _exclusive(workdir: Path, lock: str = LOCK) -> Iterator[None]:
    """Keeps two runs out of one folder; the lock dies with its process."""
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        file = open(workdir / lock, "a+", encoding="utf-8")
    except OSError as error:
        raise UserError(f"--workdir {workdir}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise UserError(
                f"{workdir}: process {file.read().strip() or '?'} is working there; "
                "wait for it, or choose another --workdir"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
