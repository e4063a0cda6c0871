"""How far a run has come, from the files in its folder: while it runs or later."""

from __future__ import annotations

import dataclasses
import fcntl
import json
from datetime import datetime
from pathlib import Path
from typing import get_args

from components.artifacts import manifest
from components.duration import duration
from models.errors import UserError
from pipeline import Verb
from pipeline.local_runner import LOCK, LOG

_LOG_LINES = 3


@dataclasses.dataclass(frozen=True)
class StepStatus:
    """One step of a run.

    Attributes:
      verb: Its name.
      state: ``done``, ``begun`` or ``open``.
      ended: When it was done, local time; None before.
      seconds: How long it took; None before.
      trials: Trained models, of `train` alone.
    """

    verb: str
    state: str
    ended: str | None = None
    seconds: float | None = None
    trials: int | None = None


@dataclasses.dataclass(frozen=True)
class RunStatus:
    """A run.

    Attributes:
      folder: Its folder.
      process: The process that works there now, if any.
      steps: Its steps, in order.
      log: The last lines of its log.
    """

    folder: str
    process: int | None
    steps: tuple[StepStatus, ...]
    log: tuple[str, ...]


def status(workdir: Path) -> RunStatus:
    """Reads how far a run has come.

    Raises:
      UserError: There is no run in the folder.
    """
    found = tuple(_step(workdir, verb) for verb in get_args(Verb))
    if all(step.state == "open" for step in found) and not (workdir / LOG).is_file():
        raise UserError(f"{workdir}: no run; expected the folder of one, as runs/NAME")
    log = workdir / LOG
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return RunStatus(str(workdir), _process(workdir), found, tuple(lines[-_LOG_LINES:]))


def to_json(run: RunStatus) -> str:
    """For a program to read."""
    return json.dumps(dataclasses.asdict(run), indent=1, ensure_ascii=False) + "\n"


def to_text(run: RunStatus) -> str:
    """For a person to read."""
    worker = "no process is working there"
    if run.process is not None:
        worker = f"process {run.process} is working there"
    lines = [f"{run.folder}: {worker}"]
    for step in run.steps:
        parts = [step.state]
        if step.seconds is not None:
            parts.append(f"{step.ended}, took {duration(step.seconds)}")
        if step.trials is not None:
            parts.append(f"{step.trials} trials trained")
        lines.append(f"  {step.verb:<10}{', '.join(parts)}")
    return "\n".join([*lines, *run.log]) + "\n"


def _step(workdir: Path, verb: str) -> StepStatus:
    folder = workdir / verb
    trials = None
    if verb == "train" and folder.is_dir():
        trials = sum(1 for _ in folder.glob(f"*/{manifest.FILE_NAME}"))
    written = folder / manifest.FILE_NAME
    if not written.is_file():
        begun = folder.is_dir() or (workdir / f".{verb}.tmp").is_dir()
        return StepStatus(verb, "begun" if begun else "open", trials=trials)
    ended = datetime.fromtimestamp(written.stat().st_mtime)
    return StepStatus(
        verb,
        "done",
        ended=ended.isoformat(" ", "seconds"),
        seconds=manifest.load(folder).seconds,
        trials=trials,
    )


def _process(workdir: Path) -> int | None:
    """The process that holds the lock of the folder."""
    try:
        file = open(workdir / LOCK, encoding="utf-8")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read().strip()
            return int(text) if text.isdigit() else None
    return None
