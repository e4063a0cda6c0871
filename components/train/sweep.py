"""The sweep: which trials are still to train, in which groups, and their seals."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components import manifest
from components.manifest import Manifest
from components.tokenize.reader import load_index
from components.train.config import Config
from components.train.group import Group, resumed_groups
from components.train.layout import load_record
from components.train.workers import Assignment, train_all
from components.trial import Trial
from models.errors import UserError
from models.nmt.sizes import count_parameters, get_shape

log = logging.getLogger(__name__)

VERB = "train"
PROGRESS = ".progress"
_REPORT_SECONDS = 10.0


def run_sweep(
    config: Config,
    *,
    trials: tuple[Trial, ...],
    tokens: Path,
    output: Path,
    jobs: int,
) -> Manifest:
    """Trains what is missing and seals the sweep; see `components.train.run`."""
    inputs = {"tokens": manifest.digest_input(tokens)}
    whole = {"config": config, "trials": [trial.id for trial in trials]}
    if manifest.is_current(output, manifest.key_of(VERB, whole, inputs)):
        log.info("train: up to date")
        return manifest.load(output)
    index = load_index(tokens)
    tasks = _tasks(trials)
    _check_data(trials, index)
    sweep = _Sweep(config, inputs, output)
    missing = [trial for trial in trials if not sweep.is_done(trial)]
    groups = _costliest_first(
        resumed_groups(config, missing, sweep.begun()), config, index
    )
    sweep.train(groups, tasks=tasks, tokens=tokens, jobs=jobs)
    records = [load_record(output / trial.id) for trial in trials]
    failed = sum(record["status"] == "failed" for record in records)
    shutil.rmtree(output / PROGRESS, ignore_errors=True)
    return manifest.seal(
        output,
        verb=VERB,
        config=whole,
        inputs=inputs,
        counts={
            "trials": len(trials),
            "failed": failed,
            "process_seconds": round(sum(r["seconds"] for r in records), 1),
        },
        seconds=sweep.seconds,
    )


class _Sweep:
    """Folders, keys and timing of one sweep."""

    def __init__(self, config: Config, inputs: dict[str, str], output: Path):
        self.config, self.inputs, self.output = config, inputs, output
        self.progress = output / PROGRESS / self._state_key()
        self._clock = output / PROGRESS / "seconds.json"
        self.seconds = self._seconds_so_far()

    def is_done(self, trial: Trial) -> bool:
        """Whether a trial's folder is complete and made from the same."""
        key = manifest.key_of(VERB, self._trial_config(trial), self.inputs)
        return manifest.is_current(self.output / trial.id, key)

    def begun(self) -> list[list[str]]:
        """Trial ids of the groups that have work in progress."""
        found = sorted(self.progress.glob("*/group.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in found]

    def train(
        self,
        groups: Sequence[Group],
        *,
        tasks: tuple[str, ...],
        tokens: Path,
        jobs: int,
    ) -> None:
        """Trains the groups, sealing each trial as its group ends."""
        if not groups:
            return
        for group in groups:
            folder = self.progress / group.id
            folder.mkdir(parents=True, exist_ok=True)
            ids = json.dumps([trial.id for trial in group.trials])
            manifest.write_atomically(folder / "group.json", ids)
        jobs = max(1, min(jobs, len(groups)))
        assignment = Assignment(
            config=self.config,
            tasks=tasks,
            tokens=tokens,
            output=self.output,
            progress=self.progress,
            threads=max(1, (os.cpu_count() or 1) // jobs),
        )
        clock = _Clock(groups, self.seconds)

        def on_step(group: Group, step: int, steps: int) -> None:
            if clock.is_due(group, step / steps):
                self.seconds = clock.seconds()
                manifest.write_atomically(self._clock, json.dumps(self.seconds))

        def on_done(group: Group) -> None:
            for trial in group.trials:
                self._seal(trial)
            clock.done(group)
            shutil.rmtree(self.progress / group.id, ignore_errors=True)

        train_all(assignment, groups, jobs, on_step=on_step, on_done=on_done)
        self.seconds = clock.seconds()

    def _seal(self, trial: Trial) -> None:
        folder = self.output / trial.id
        record = load_record(folder)
        manifest.seal(
            folder,
            verb=VERB,
            config=self._trial_config(trial),
            inputs=self.inputs,
            counts={"status": record["status"], "epochs": record["epochs"]},
            seconds=record["seconds"],
        )

    def _trial_config(self, trial: Trial) -> Any:
        """What a trial's result depends on: not on the other trials."""
        plain = manifest.plain(self.config)
        for name in ("sizes", "mixtures", "seeds", "steps_by_size", "stack"):
            plain.pop(name)
        plain["steps"] = self.config.steps_of(trial.size)
        plain.pop("checkpoint_seconds")
        return {"train": plain, "trial": manifest.plain(trial)}

    def _state_key(self) -> str:
        """Work in progress is only resumed under the same settings and data."""
        plain = manifest.plain(self.config)
        for name in ("sizes", "mixtures", "seeds", "checkpoint_seconds"):
            plain.pop(name)
        return manifest.key_of(VERB, plain, self.inputs)[:16]

    def _seconds_so_far(self) -> float:
        try:
            return float(json.loads(self._clock.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return 0.0


class _Clock:
    """Wall time of the sweep and how far it is."""

    def __init__(self, groups: Sequence[Group], before: float):
        self._sizes = {group.id: group.size for group in groups}
        self._shares: dict[str, float] = {}
        self._trials = sum(len(group.trials) for group in groups)
        self._before = before
        self._started = self._reported = time.monotonic()
        self._done = 0

    def seconds(self) -> float:
        """Wall time of the sweep, earlier attempts included."""
        return self._before + time.monotonic() - self._started

    def is_due(self, group: Group, share: float) -> bool:
        """Notes how far a group is; says so from time to time, returning True."""
        self._shares[group.id] = share
        if time.monotonic() - self._reported < _REPORT_SECONDS:
            return False
        self._report()
        return True

    def done(self, group: Group) -> None:
        """Notes that a group's trials are complete."""
        self._shares.pop(group.id, None)
        self._done += len(group.trials)
        self._report()

    def _report(self) -> None:
        self._reported = time.monotonic()
        running = ", ".join(
            f"{self._sizes[name]} at {share:.0%}"
            for name, share in self._shares.items()
        )
        log.info(
            "train: %d of %d trials done, %.0f s%s",
            self._done,
            self._trials,
            self.seconds(),
            f" (now {running})" if running else "",
        )


def _tasks(trials: Sequence[Trial]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for trial in trials for task, _ in trial.mixture))


def _check_data(trials: Sequence[Trial], index: dict[str, Any]) -> None:
    """Every task that some trial gives weight must have training rows."""
    for trial in trials:
        for task, weight in trial.mixture:
            splits = index["tasks"].get(task, {}).get("splits", {})
            if weight > 0 and not splits.get("train", {}).get("rows"):
                raise UserError(
                    f"train {trial.id}: {task} has weight {weight:g} and no training "
                    f"data (tasks with data: {', '.join(index['tasks'])})"
                )


def _costliest_first(
    groups: Sequence[Group], config: Config, index: dict[str, Any]
) -> list[Group]:
    def cost(group: Group) -> float:
        count = count_parameters(get_shape(group.size), index["vocabulary_size"])
        work = count.n + count.n_embedding / 2
        return -work * config.steps_of(group.size) * len(group.trials)

    return sorted(groups, key=cost)
