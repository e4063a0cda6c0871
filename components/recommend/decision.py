"""The work of ``recommend``, and the bodies of the commands that ask laws."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts import manifest
from components.artifacts.manifest import Manifest, write_atomically
from components.artifacts.trial import format_mixture
from components.fit import law_file
from components.fit.held_out import cell
from components.recommend.config import Config
from models.errors import UserError
from models.laws.approximate import ApproximateLaw
from models.laws.frontier import Frontier, frontier
from models.laws.law import Law
from models.laws.recommendation import Recommendation, Repetition, recommend

FRONTIER_FILE = "frontier.csv"
RECOMMENDATION_FILE = "recommendation.json"
_BEYOND = 10.0  # the model to train, when none is named, over the largest fitted


def decide(config: Config, *, laws: Path, output: Path) -> Manifest:
    """See `components.recommend.run`."""
    if not laws.exists():
        raise UserError(f"{laws}: no such law file; expected the laws.json of a fit")
    return manifest.complete(
        "recommend",
        output,
        config=config,
        inputs={"laws": laws},
        make=lambda folder: _make(config, laws, folder),
    )


def _make(config: Config, source: Path, folder: Path) -> Mapping[str, Any]:
    known = trade_off_laws(source, config.test_set)
    n = config.n or _BEYOND * max(law.fitted_range["n"][1] for law in known)
    sizes = sorted({*(config.frontier_sizes or _fitted_sizes(known)), n})
    frontiers = [frontier(known, size, config.points, config.level) for size in sizes]
    write_atomically(folder / FRONTIER_FILE, frontier_csv(frontiers))
    found = ask(config, known, n)
    text = json.dumps(to_record(found), indent=1, ensure_ascii=False)
    write_atomically(folder / RECOMMENDATION_FILE, text + "\n")
    return {"sizes": len(sizes), "weights": dict(found.weights)}


def ask(config: Config, known: Sequence[Law], n: float) -> Recommendation:
    """The weights that a configuration asks for, from laws of one test set."""
    repetition = None
    if config.max_repeats is not None and config.planned_examples is not None:
        repetition = Repetition(config.planned_examples, config.max_repeats)
    return recommend(
        known,
        n,
        config.prefer or None,
        objective=config.objective,
        require=parse_requirements(config.require, known),
        examples=config.examples or None,
        repetition=repetition,
        level=config.level,
    )


def trade_off_laws(source: Path, test_set: str | None = None) -> list[Law]:
    """The approximate laws of one test set, one a task.

    Raises:
      UserError: No such test set, or no approximate law of it.
    """
    known = law_file.load(source).known
    if len(known.tasks) == 1:
        raise UserError(
            f"{source}: nothing to recommend: with one task, {known.tasks[0]}, there "
            "is no other to share a model with"
        )
    laws = [law for law in known.laws if isinstance(law, ApproximateLaw)]
    if not laws:
        raise UserError(
            f"{source}: no approximate law, which a new mixture needs; fit with "
            "--law approximate"
        )
    names = list(dict.fromkeys(law.test_set for law in laws))
    chosen = test_set or ("in_domain" if "in_domain" in names else names[0])
    if chosen not in names:
        raise UserError(
            f"{source}: no law of test set {chosen}; it has {', '.join(names)}"
        )
    return [law for law in laws if law.test_set == chosen]


def parse_requirements(texts: Sequence[str], laws: Sequence[Law]) -> dict[str, float]:
    """``en-zh<=1.9`` -> the worst admissible value by task.

    Args:
      texts: One requirement each.
      laws: The laws that will be asked; a rising metric takes ``>=``.

    Raises:
      UserError: A text that is no requirement, names an unknown task or one twice,
        or asks for the wrong side.
    """
    known = {law.task: ">=" if law.ceiling is not None else "<=" for law in laws}
    limits: dict[str, float] = {}
    for text in texts:
        relation = next((mark for mark in ("<=", ">=") if mark in text), "")
        task, _, number = text.partition(relation or "<=")
        task = task.strip()
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        if not relation or not math.isfinite(limit):
            raise UserError(f"require {text!r}: expected task<=loss, as en-zh<=1.9")
        if task not in known:
            raise UserError(
                f"require {text!r}: unknown task {task}; these laws know "
                f"{', '.join(known)}"
            )
        if relation != known[task]:
            raise UserError(f"require {text!r}: expected {task}{known[task]}{limit:g}")
        if task in limits:
            raise UserError(f"require: {task} is named twice")
        limits[task] = limit
    return limits


def frontier_csv(frontiers: Sequence[Frontier]) -> str:
    """One line a size, mixture and task: ``n, mixture, task, p, loss, low, high``."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["n", "mixture", "task", "p", "loss", "low", "high"])
    for one in frontiers:
        for row, weights in enumerate(one.weights.tolist()):
            mixture = dict(zip(one.tasks, weights, strict=True))
            for k, task in enumerate(one.tasks):
                ends = (one.losses[row, k], one.low[row, k], one.high[row, k])
                cells = [cell(float(value)) for value in (one.n, weights[k], *ends)]
                writer.writerow([cells[0], format_mixture(mixture), task, *cells[1:]])
    return buffer.getvalue()


def to_record(found: Recommendation) -> dict[str, Any]:
    """A recommendation as JSON values; null where an interval is open."""
    record = _plain(dataclasses.asdict(found))
    for shown, one in zip(record["alternatives"], found.alternatives, strict=True):
        shown["exceeds_uncertainty"] = one.exceeds_uncertainty
    return record


def recommendation_text(found: Recommendation) -> str:
    """A recommendation for a person."""
    lines = [f"for n = {found.n:.4g}, {found.objective} objective:"]
    for task, weight in found.weights.items():
        low, high = found.weight_intervals[task]
        loss, (below, above) = found.losses[task], found.loss_intervals[task]
        lines.append(
            f"  {task:<8} weight {weight:.3f} ({low:.3f} to {high:.3f})   predicted "
            f"{loss:.4f} ({below:.4f} to {above:.4f})"
        )
    corrected = ""
    if found.optimism >= 5e-5:
        corrected = (
            f", corrected by {found.optimism:.4f} for having been chosen as best"
        )
    lines.append(f"  objective {found.value:.4f}{corrected}")
    for one in found.alternatives:
        shown = " ".join(f"{task}={w:.3f}" for task, w in one.weights.items())
        lines.append(f"  {one.name:<14} {shown}   objective {one.objective:.4f}")
    if found.unconstrained is not None:
        shown = " ".join(f"{task}={w:.3f}" for task, w in found.unconstrained.items())
        lines.append(f"  the cap on repetition binds; without it {shown}")
    lines.append(found.verdict)
    lines += [f"warning: {text}" for text in found.warnings]
    return "\n".join(lines)


def _fitted_sizes(laws: Sequence[Law]) -> set[float]:
    ranges = [law.fitted_range["n"] for law in laws]
    return {min(low for low, _ in ranges), max(high for _, high in ranges)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
