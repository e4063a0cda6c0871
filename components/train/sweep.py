"""The sweep: which trials are still to train, in which groups, and their seals."""

from __future__ import annotations

import functools
import json
import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.outputs import PROGRESS
from components.artifacts.token_index import TokenIndex
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import TrialRecord
from components.engines import cluster
from components.engines.cores import available_cores
from components.train import group_state, storage
from components.train.config import Config
from components.train.group import Group, resumed_groups
from components.train.progress_line import ProgressLine
from components.train.worker_pool import Assignment, Events, train_all
from models.errors import UserError
from models.nmt.sizes import count_parameters, get_shape

log = logging.getLogger(__name__)

VERB = "train"
_HEARTBEAT = f"{PROGRESS}/chief"
# What changes how training is watched and kept, and not what comes out.
_WATCHING = ("checkpoint_seconds",)


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
        return manifest.kept(VERB, output)
    cluster.check(config.strategy)
    index = TokenIndex.load(tokens)
    tasks = _tasks(trials)
    _check_data(trials, index)
    sweep = _Sweep(config, inputs, output)
    missing = [trial for trial in trials if not sweep.is_done(trial)]
    costs = _costliest_first(
        resumed_groups(config, missing, sweep.begun()), config, index
    )
    jobs = _jobs(config, costs, jobs)
    storage.check(output, config, costs, index=index, jobs=jobs)
    heartbeat = output / _HEARTBEAT
    if not sweep.member.is_chief:
        sweep.train(costs, tasks=tasks, tokens=tokens, jobs=jobs)
        written = output / manifest.FILE_NAME
        cluster.wait_for_chief(written.is_file, heartbeat)
        return manifest.load(output)
    with cluster.heartbeat(heartbeat):
        # That of another sweep: with it, the other workers would not wait for ours.
        (output / manifest.FILE_NAME).unlink(missing_ok=True)
        sweep.train(costs, tasks=tasks, tokens=tokens, jobs=jobs)
        return _seal_sweep(sweep, whole, trials)


def _seal_sweep(
    sweep: _Sweep, whole: Mapping[str, Any], trials: Sequence[Trial]
) -> Manifest:
    records = {trial.id: TrialRecord.load(sweep.output / trial.id) for trial in trials}
    crashed = [name for name, record in records.items() if record.crashed]
    if crashed:
        log.warning(
            "train: %d trials crashed; the same command tries them again", len(crashed)
        )
    else:
        shutil.rmtree(sweep.output / PROGRESS, ignore_errors=True)
    phases: dict[str, float] = {}
    for record in records.values():
        for name, seconds in record.seconds_by_phase.items():
            phases[name] = round(phases.get(name, 0.0) + seconds, 1)
    return manifest.seal(
        sweep.output,
        verb=VERB,
        config=whole,
        inputs=sweep.inputs | _outcome(crashed),
        counts={
            "trials": len(trials),
            "failed": sum(r.status == "failed" for r in records.values()),
            "crashed": len(crashed),
            "process_seconds": round(sum(r.seconds for r in records.values()), 1),
            "process_seconds_by_phase": phases,
        },
        seconds=sweep.seconds,
    )


def _outcome(crashed: Sequence[str]) -> dict[str, str]:
    """What joins the inputs in the key of an artifact: nothing, when all went well.

    A crash is no function of the inputs. With it in the key, an artifact with
    crashed trials is complete for the steps that read it, and yet not current: the
    next run tries them again.
    """
    return {"crashed": ",".join(crashed)} if crashed else {}


class _Sweep:
    """Folders, keys and timing of one sweep."""

    def __init__(self, config: Config, inputs: dict[str, str], output: Path):
        self.config, self.inputs, self.output = config, inputs, output
        self.member = cluster.member(config.strategy)
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
        costs: Mapping[Group, float],
        *,
        tasks: tuple[str, ...],
        tokens: Path,
        jobs: int,
    ) -> None:
        """Trains the groups, sealing each trial as its group ends."""
        if not costs:
            return
        assignment = Assignment(
            config=self.config,
            tasks=tasks,
            tokens=tokens,
            output=self.output,
            progress=self.progress,
            threads=max(1, available_cores() // jobs),
        )
        if self.member.is_chief:
            self._begin(costs)
        progress = ProgressLine(costs, jobs, self.seconds)
        events = Events(
            on_step=functools.partial(self._on_step, progress),
            on_done=functools.partial(self._on_done, progress),
            on_crash=functools.partial(self._on_crash, progress),
        )
        try:
            train_all(assignment, list(costs), jobs, events)
        finally:
            progress.close()
            self.seconds = progress.seconds()
            if self.member.is_chief:
                manifest.write_atomically(self._clock, json.dumps(self.seconds))

    def _begin(self, groups: Iterable[Group]) -> None:
        for group in groups:
            folder = self.progress / group.id
            folder.mkdir(parents=True, exist_ok=True)
            ids = json.dumps([trial.id for trial in group.trials])
            manifest.write_atomically(folder / "group.json", ids)

    def _on_step(
        self, progress: ProgressLine, group: Group, step: int, steps: int
    ) -> None:
        if progress.step(group, step, steps) and self.member.is_chief:
            manifest.write_atomically(self._clock, json.dumps(progress.seconds()))

    def _on_done(self, progress: ProgressLine, group: Group) -> None:
        if self.member.is_chief:
            for trial in group.trials:
                self._seal(trial)
            shutil.rmtree(self.progress / group.id, ignore_errors=True)
        progress.done(group)

    def _on_crash(self, progress: ProgressLine, group: Group, how: str) -> None:
        for index, trial in enumerate(group.trials):
            log.warning("%s failed: %s", trial.id, how)
            if self.member.is_chief:
                group_state.write_crashed(
                    self.output / trial.id,
                    index,
                    how,
                    steps=self.config.steps_of(trial.size),
                    progress=self.progress / group.id,
                )
                self._seal(trial)
        progress.done(group)

    def _seal(self, trial: Trial) -> None:
        folder = self.output / trial.id
        record = TrialRecord.load(folder)
        crashed = [trial.id] if record.crashed else []
        manifest.seal(
            folder,
            verb=VERB,
            config=self._trial_config(trial),
            inputs=self.inputs | _outcome(crashed),
            counts={"status": record.status, "epochs": record.epochs},
            seconds=record.seconds,
        )

    def _trial_config(self, trial: Trial) -> Any:
        """What a trial's result depends on: not on the other trials."""
        plain = manifest.plain(self.config)
        for name in ("sizes", "mixtures", "seeds", "steps_by_size", "stack"):
            plain.pop(name)
        for name in _WATCHING:
            plain.pop(name)
        plain["steps"] = self.config.steps_of(trial.size)
        return {"train": plain, "trial": manifest.plain(trial)}

    def _state_key(self) -> str:
        """Work in progress is only resumed under the same settings and data."""
        plain = manifest.plain(self.config)
        for name in ("sizes", "mixtures", "seeds", *_WATCHING):
            plain.pop(name)
        return manifest.key_of(VERB, plain, self.inputs)[:16]

    def _seconds_so_far(self) -> float:
        try:
            return float(json.loads(self._clock.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return 0.0


def _tasks(trials: Sequence[Trial]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for trial in trials for task, _ in trial.mixture))


def _check_data(trials: Sequence[Trial], index: TokenIndex) -> None:
    """Every task that some trial gives weight must have training rows."""
    for trial in trials:
        for task, weight in trial.mixture:
            if weight > 0 and not index.training_rows(task):
                raise UserError(
                    f"train {trial.id}: {task} has weight {weight:g} and no training "
                    f"data (tasks with data: {', '.join(index.tasks)})"
                )


def _jobs(config: Config, costs: Mapping[Group, float], jobs: int) -> int:
    """Worker processes: one, where a strategy takes all devices there are."""
    if config.strategy != "default" and jobs > 1:
        log.info("train: strategy %s takes all devices; one job", config.strategy)
        return 1
    return max(1, min(jobs, len(costs)))


def _costliest_first(
    groups: Sequence[Group], config: Config, index: TokenIndex
) -> dict[Group, float]:
    """Groups with their work, in multiplications."""

    def cost(group: Group) -> float:
        count = count_parameters(get_shape(group.size), index.vocabulary_size)
        work = count.n + count.n_embedding / 2
        return work * config.steps_of(group.size) * len(group.trials)

    costs = {group: cost(group) for group in groups}
    # Every worker of a cluster must come to the same order.
    return dict(sorted(costs.items(), key=lambda item: (-item[1], item[0].id)))
