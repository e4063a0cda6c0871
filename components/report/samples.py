"""Translations of the same sentences by models from small to large."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape
from pathlib import Path

from components.artifacts.metrics_table import MetricsRow
from components.evaluate import hypotheses
from components.report.tables import number, table

_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the sentences by length, one each


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sentence.

    Attributes:
      source, reference: Its two sides.
      hypotheses: Of each model, small to large.
    """

    source: str
    reference: str
    hypotheses: tuple[str, ...]


def section(workdir: Path, rows: Sequence[MetricsRow], test_set: str | None) -> str:
    """The section of the page; empty when nothing was translated.

    Args:
      workdir: Folder of the run.
      rows: The metrics table.
      test_set: Whose losses the page shows.
    """
    finals = [row for row in rows if row.loss_kind == "final"]
    parts = []
    for task in dict.fromkeys(row.task for row in finals):
        models = chosen(workdir, [row for row in finals if row.task == task], test_set)
        if models:
            parts.append(_task(workdir, models))
    if not parts:
        return ""
    return (
        "<h2 id=samples>Translations from small to large models</h2>"
        "<p class=fine>The same sentences, from short to long, whatever came out; all "
        "of them lie in <code>evaluate/hypotheses/</code>.</p>" + "".join(parts)
    )


def chosen(
    workdir: Path, finals: Sequence[MetricsRow], test_set: str | None
) -> list[tuple[MetricsRow, Path]]:
    """One trained model of each size, small to large, with its translations.

    All of one mixture where there is one that every size has: the one that is
    nearest to equal weights.
    """
    wanted = (test_set or "").partition(":")[0]
    found = [
        (row, hypotheses.file_of(workdir / "evaluate", row.trial, row.task, name))
        for row in finals
        for name in [row.test_set]
    ]
    found = [(row, path) for row, path in found if path.is_file()]
    names = dict.fromkeys(row.test_set for row, _ in found)
    if not names:
        return []
    name = wanted if wanted in names else next(iter(names))
    found = [(row, path) for row, path in found if row.test_set == name]
    sizes = {row.size for row, _ in found}
    everywhere = {
        mixture
        for mixture in {row.mixture for row, _ in found}
        if {row.size for row, _ in found if row.mixture == mixture} == sizes
    }
    best: dict[str, tuple[MetricsRow, Path]] = {}
    # Of the rows of one trial the whole test set comes first.
    for row, path in sorted(
        found,
        key=lambda pair: (
            pair[0].mixture not in everywhere,
            abs(pair[0].p - 0.5),
            pair[0].seed,
            pair[0].origin in ("source", "target"),
        ),
    ):
        best.setdefault(row.size, (row, path))
    return sorted(best.values(), key=lambda pair: pair[0].n)


def samples(paths: Sequence[Path]) -> list[Sample]:
    """A few sentences of all lengths and what each model made of them."""
    tables = [hypotheses.read(path) for path in paths]
    order = sorted(range(len(tables[0])), key=lambda i: len(tables[0][i]["source"]))
    places = dict.fromkeys(order[int(share * len(order))] for share in _SHARES)
    return [
        Sample(
            tables[0][i]["source"],
            tables[0][i]["reference"],
            tuple(rows[i]["hypothesis"] for rows in tables),
        )
        for i in places
    ]


def _task(workdir: Path, models: Sequence[tuple[MetricsRow, Path]]) -> str:
    first = models[0][0]
    names = [f"{escape(row.size)}, p {row.p:g}{_scores(row)}" for row, _ in models]
    parts = []
    for sample in samples([path for _, path in models]):
        lines = [
            ("<b>reference</b>", escape(sample.reference)),
            *zip(names, map(escape, sample.hypotheses), strict=True),
        ]
        head = ("<b>source</b>", escape(sample.source))
        parts.append(table(head, lines, text_columns=2))
    return f"<h3>{escape(first.task)} {escape(first.test_set)}</h3>" + "".join(parts)


def _scores(row: MetricsRow) -> str:
    known = (("BLEU", row.bleu), ("chrF", row.chrf))
    return "".join(f", {name} {number(v, 1)}" for name, v in known if v is not None)
