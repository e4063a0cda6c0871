"""The work of ``ingest``: runs the graph and checks that nothing vanished."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts import manifest
from components.artifacts.manifest import Manifest
from components.artifacts.text_shards import IN_DOMAIN, TRAIN
from components.engines import beam_runner
from components.ingest import data_card
from components.ingest.config import Config
from components.ingest.corpus_check import CorpusCheck
from components.ingest.layout import ACCEPTED, COUNTS, NOT_TEXT, READ, REPORT, TEMPORARY
from components.ingest.sources import places
from components.ingest.sources.inputs import about_pairs, files_of, list_inputs
from models.errors import UserError

log = logging.getLogger(__name__)

_MUCH = 0.1  # share of a task that one rule rejects only where something is wrong


def run(
    config: Config, *, base: Path, tasks: tuple[str, ...], output: Path
) -> Manifest:
    """See `components.ingest.run`."""
    inputs = list_inputs(config, base, tasks)

    def make(directory: Path) -> Mapping[str, Any]:
        from components.ingest.graph import build  # Beam starts only for work

        pairs = about_pairs(config, inputs)
        options = beam_runner.with_workers(config.beam_options, pairs)
        workers = beam_runner.workers(options)
        with beam_runner.writing_to(output):
            with beam_runner.pipeline(options) as pipeline:
                build.build(pipeline, config, inputs, str(directory), workers)
        report_path = directory / REPORT
        report = json.loads(report_path.read_text(encoding="utf-8"))
        report_path.unlink()
        if report["problems"]:
            raise UserError("; ".join(report["problems"]))
        for path in directory.rglob(f"*{TEMPORARY}"):
            path.unlink()  # of a bundle that failed and was tried again
        measures = [row for row in report["counts"] if ":" in row[2]]
        checks = [CorpusCheck(**found) for found in report["checks"]]
        warn(checks)
        told = [row for row in report["counts"] if ":" not in row[2]]
        counts = summarise(told, tasks)
        check_counts(config, counts)
        text = json.dumps(counts, indent=1, ensure_ascii=False)
        manifest.write_atomically(directory / COUNTS, text + "\n")
        data_card.write(
            directory, data_card.make(counts, measures, report["samples"], checks)
        )
        return counts

    files = files_of(inputs)
    remote = {name: path for name, path in files.items() if places.is_remote(path)}
    return manifest.complete(
        "ingest",
        output,
        config=_described(config, tasks),
        inputs={name: Path(files[name]) for name in files.keys() - remote.keys()},
        make=make,
        digests={name: places.digest(path) for name, path in remote.items()},
    )


def warn(checks: Sequence[CorpusCheck]) -> None:
    """Says on the screen what samples of the inputs show to be wrong.

    Raises:
      UserError: There is no doubt about it.
    """
    for found in checks:
        where = f"ingest {found.task} {found.split}: {found.name}"
        if found.certain:
            raise UserError(f"{where}: {'; '.join(found.warnings)}")
        for warning in found.warnings:
            log.warning("%s: %s", where, warning)


def _described(config: Config, tasks: tuple[str, ...]) -> dict[str, Any]:
    """What the result is a function of: not the engine, nor the unused source."""
    described = manifest.plain(config)
    del described["beam_options"]
    if config.source == "text":
        del described["synthetic"]
        described["text"] = {task: described["text"][task] for task in sorted(tasks)}
    else:
        del described["text"]
    return {"tasks": sorted(tasks), **described}


def summarise(
    counts: list[tuple[str, str, str, int]], tasks: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """The counts of each task as ``counts.json`` shows them.

    Args:
      counts: ``(task, split, what, n)``: ``read``, ``accepted`` or a rule.
      tasks: The tasks in the experiment's order.

    Returns:
      Task -> read, accepted, rejected (by rule), train and test (by name).
    """
    summary: dict[str, dict[str, Any]] = {
        task: {"read": 0, "accepted": 0, "rejected": {}, TRAIN: 0, "test": {}}
        for task in tasks
    }
    for task, split, what, count in counts:
        row = summary[task]
        if what == READ:
            row["read"] += count
        elif what == ACCEPTED:
            row["accepted"] += count
            if split == TRAIN:
                row[TRAIN] += count
            else:
                row["test"][split] = row["test"].get(split, 0) + count
        else:
            row["rejected"][what] = row["rejected"].get(what, 0) + count
    return summary


def check_counts(config: Config, counts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises unless every pair is accounted for and every task can be used.

    Raises:
      RuntimeError: accepted + rejected is not what was read.
      UserError: Nothing is left to train on, or too little to test on.
    """
    for task, row in counts.items():
        rejected = sum(row["rejected"].values())
        if row["accepted"] + rejected != row["read"]:
            raise RuntimeError(
                f"ingest {task}: {row['accepted']} accepted + {rejected} rejected "
                f"is not {row['read']} read"
            )
        held_out = row["test"].get(IN_DOMAIN, 0)
        if config.source == "text" and held_out < config.test_sentences:
            raise UserError(
                f"ingest {task}: {held_out} sentences can be held out, "
                f"ingest.test_sentences is {config.test_sentences}; ask for fewer"
                + _reasons(row)
            )
        for name, count in row["test"].items():
            if not count:
                raise UserError(
                    f"ingest {task}: no pair of test set {name} has text on both "
                    "sides" + _reasons(row)
                )
        if not row[TRAIN]:
            raise UserError(
                f"ingest {task}: nothing is left to train on, of {row['read']} "
                "pairs read" + _reasons(row)
            )
        for name in (field.name for field in dataclasses.fields(config.rules)):
            share = row["rejected"].get(name, 0) / row["read"]
            if share > _MUCH:
                log.warning(
                    "ingest %s: the rule %s rejects %.0f %% of the pairs; look at them "
                    "in dead_letters/, and set ingest.rules.%s to null if it is wrong",
                    *(task, name, 100 * share, name),
                )
        log.info(
            "ingest %s: %d read, %d to train on, %d rejected, test sets %s",
            task,
            row["read"],
            row[TRAIN],
            rejected,
            row["test"],
        )


def _reasons(row: Mapping[str, Any]) -> str:
    worst = sorted(row["rejected"].items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{rule} {count}" for rule, count in worst[:3])
    hint = "; not UTF-8? try encoding: detect" if shown.startswith(NOT_TEXT) else ""
    return f" (rejected: {shown}{hint})" if shown else ""
