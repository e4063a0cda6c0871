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
from models.laws.choice import TradeOff, range_notes
from models.laws.frontier import Frontier, frontier
from models.laws.law import Law
from models.laws.recommendation import Recommendation, Repetition, recommend

FRONTIER_FILE = "frontier.csv"
RECOMMENDATION_FILE = "recommendation.json"
_SHOWN = 6  # warnings that the text names
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
    known = trade_off(source, config)
    laws = known.laws
    n = config.n or _BEYOND * max(law.fitted_range["n"][1] for law in laws)
    sizes = sorted({*(config.frontier_sizes or _fitted_sizes(laws)), n})
    frontiers = [frontier(laws, size, config.points, config.level) for size in sizes]
    write_atomically(folder / FRONTIER_FILE, frontier_csv(frontiers))
    found = ask(config, known, n)
    text = json.dumps(to_record(found), indent=1, ensure_ascii=False)
    write_atomically(folder / RECOMMENDATION_FILE, text + "\n")
    return {"sizes": len(sizes), "weights": dict(found.weights)}


def ask(config: Config, known: TradeOff, n: float) -> Recommendation:
    """The weights that a configuration asks for.

    Raises:
      UserError: An impossible question, or a requirement that no mixture meets.
    """
    repetition = None
    if config.max_repeats is not None and config.planned_examples is not None:
        repetition = Repetition(config.planned_examples, config.max_repeats)
    found = recommend(
        known.laws,
        n,
        config.prefer or None,
        objective=config.objective,
        require=parse_requirements(config.require, known.laws),
        examples=config.examples or None,
        repetition=repetition,
        level=config.level,
    )
    if not found.feasible:
        raise UserError(f"require: {found.verdict.partition(';')[0]}")
    return dataclasses.replace(
        found,
        law=known.law,
        backtest=known.backtest,
        test_set=known.test_set,
        group=known.group,
    )


def trade_off(source: Path, config: Config) -> TradeOff:
    """The laws of one test set and group that any mixture can be asked of.

    Raises:
      UserError: No such file, test set or group, or laws that cannot tell.
    """
    known = law_file.load(source).known
    if len(known.tasks) == 1:
        raise UserError(
            f"{source}: nothing to recommend: with one task, {known.tasks[0]}, there "
            "is no other to share a model with"
        )
    try:
        return known.trade_off(config.test_set, known.group_named(config.by))
    except UserError as error:
        raise UserError(f"{source}: {error}") from None


def doubts(known: TradeOff, n: float) -> list[str]:
    """What to know before one trusts an answer of these laws, lines."""
    where = ", ".join(filter(None, [known.test_set, known.group]))
    lines = [f"extrapolation: n = {n:.4g}: {x}" for x in range_notes(known.laws, n)]
    lines.append(f"{known.law} on {where}: {known.backtest}")
    texts = [f"{law.name}: {text}" for law in known.laws for text in law.warnings]
    lines += [f"warning: {text}" for text in texts[:_SHOWN]]
    if len(texts) > _SHOWN:
        lines.append(f"and {len(texts) - _SHOWN} more warnings of the fit")
    return lines


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
    """One line a size, mixture and task, with the loss, its band and the law."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["n", "mixture", "task", "p", "loss", "low", "high", "law"])
    for one in frontiers:
        for row, weights in enumerate(one.weights.tolist()):
            mixture = format_mixture(dict(zip(one.tasks, weights, strict=True)))
            for k, task in enumerate(one.tasks):
                ends = (one.losses[row, k], one.low[row, k], one.high[row, k])
                cells = [cell(float(value)) for value in (one.n, weights[k], *ends)]
                writer.writerow([cells[0], mixture, task, *cells[1:], one.law])
    return buffer.getvalue()


def to_record(found: Recommendation) -> dict[str, Any]:
    """A recommendation as JSON values; null where an interval is open."""
    record = _plain(dataclasses.asdict(found))
    for shown, one in zip(record["alternatives"], found.alternatives, strict=True):
        shown["exceeds_uncertainty"] = one.exceeds_uncertainty
    return record


def recommendation_text(found: Recommendation) -> str:
    """A recommendation for a person."""
    far = [text for text in found.warnings if "fitted size" in text]
    size = f"n = {found.n:.4g}" if not far else far[0]
    lines = [f"for {size}, {found.objective} objective:"]
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
    lines.append(
        f"{found.law} on {', '.join(filter(None, [found.test_set, found.group]))}: "
        f"{found.backtest}"
    )
    doubts = [text for text in found.warnings if text not in far]
    lines += [f"warning: {text}" for text in doubts[:_SHOWN]]
    if len(doubts) > _SHOWN:
        lines.append(f"and {len(doubts) - _SHOWN} more warnings (--json)")
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
