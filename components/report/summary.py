"""``summary.json``: what a program wants to know of a run."""

from __future__ import annotations

from typing import Any

from components.report import proof
from components.report.record import RunRecord


def summarise(record: RunRecord) -> dict[str, Any]:
    """The numbers of a run; null where there is none."""
    r2: dict[str, dict[str, float | None]] = {"joint": {}, "approximate": {}}
    for kind, by_task in r2.items():
        for task in record.tasks:
            law = record.law(kind, task)
            if law is not None:
                by_task[task] = law.statistics["r2"]
    failed = len(record.failed)
    return {
        "r2": r2,
        "held_out": {kind: proof.errors(record.compared, kind) for kind in proof.KINDS},
        "recommendation": record.recommendation,
        "trials": {"done": len(record.endings) - failed, "failed": failed},
        "seconds": {verb: m.seconds for verb, m in record.manifests.items()},
    }
