"""What a single step reads: is it what the experiment file now says?"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from components.artifacts import manifest
from pipeline import steps
from pipeline.steps import Context

log = logging.getLogger(__name__)

# Name of an input in a manifest -> the verb that makes it, where they differ.
_MADE_BY = {"tokens": "tokenize", "table": "evaluate", "laws": "fit"}
_SHOWN = 3


def warn_of_changes(context: Context, verb: str) -> None:
    """Says which artifacts that ``verb`` reads are not what they would be made now.

    The step itself works with what is there: the person may have changed a setting
    on purpose without wanting hours of training again.
    """
    wanted = set(steps.get_step(context.experiment, verb).needs)
    for step in reversed(steps.up_to(context.experiment, verb)[:-1]):
        if step.verb in wanted:
            wanted.update(step.needs)
    for step in steps.up_to(context.experiment, verb)[:-1]:
        there = (context.place(step.verb) / manifest.FILE_NAME).is_file()
        if step.verb not in wanted or not there:
            continue
        changes = list(_changes(context, step.verb))
        if changes:
            more = len(changes) - _SHOWN
            shown = ", ".join(changes[:_SHOWN]) + (f" and {more} more" * (more > 0))
            log.warning(
                "%s is used as it is, but it was made with %s; `polyscale %s` makes it "
                "again, `polyscale run` all that follows",
                context.place(step.verb), shown, step.verb,
            )  # fmt: skip


def _changes(context: Context, verb: str) -> Iterator[str]:
    """What an artifact was made with and would not be made with now."""
    made = manifest.load(context.place(verb))
    section = json.loads(json.dumps(manifest.plain(getattr(context.experiment, verb))))
    recorded = made.config
    if "config" in recorded and "trials" in recorded:  # a sweep
        trials = [trial.id for trial in context.experiment.trials]
        if recorded["trials"] != trials:
            yield "other trials"
        recorded, section = recorded["config"], dict(section)
    for key, before, now in _differences(recorded, section):
        yield f"{verb}.{key}={before} (now {now})"
    for name, digest in made.inputs.items():
        source = _MADE_BY.get(name, name)
        if source == "ingest" and verb == "tokenize" and context.experiment.select:
            source = "select"
        if source not in steps.VERBS or not context.place(source).is_dir():
            continue
        if manifest.load(context.place(source)).key != digest:
            yield f"another {source}"


def _differences(
    before: Mapping[str, Any], now: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Leaves that both have, with other values."""
    for key in before:
        if key not in now or before[key] == now[key]:
            continue
        if isinstance(before[key], Mapping) and isinstance(now[key], Mapping):
            yield from _differences(before[key], now[key], f"{path}{key}.")
        else:
            yield f"{path}{key}", json.dumps(before[key]), json.dumps(now[key])
