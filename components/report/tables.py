"""The tables of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from components.report import proof
from components.report.measured import quantity
from components.report.record import RunRecord
from models.laws import Law
from models.laws.backtest import SHARING

_SHARED = ("alpha", "beta", "irreducible_loss")


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1
) -> str:
    """An HTML table.

    Args:
      head: Column headings, HTML.
      rows: Cells, HTML.
      text_columns: How many columns are words; the others are numbers, set right.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{'' if k < text_columns else ' class=n'}>{cell}</{tag}>"
            for k, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        f"<div class=scroll><table><thead><tr>{line(head, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def held_out_table(record: RunRecord) -> str:
    """Every held-out measurement with its prediction."""
    rows = [
        (
            escape(one.trial),
            escape(one.task),
            escape(one.test_set),
            kind,
            one.law,
            number(one.loss),
            number(one.predicted),
            f"{number(one.low)} to {number(one.high)}",
            f"{one.error_percent:+.2f} %",
        )
        for kind in proof.KINDS
        for one in proof.chosen(record.compared, kind)
    ]
    if not rows:
        return ""
    head = (
        "trial", "task", "test set", "held out", "law", "measured", "predicted",
        "95 % interval", "error",
    )  # fmt: skip
    return table(head, rows, text_columns=5)


def law_table(record: RunRecord) -> str:
    """Coefficients and quality of the joint and approximate laws of every test set."""
    laws = [law for law in record.laws if law.kind in ("joint", "approximate")]
    several = len({law.test_set for law in laws}) > 1
    rows = [
        (
            escape(law.kind),
            escape(f"{law.task} {law.test_set}" if several else law.task),
            pair(law, "alpha"),
            pair(law, "irreducible_loss"),
            _capacity(law),
            f"{law.statistics['r2']:.5f}" if law.statistics["r2"] is not None else "–",
            f"{law.statistics['rmse']:.4f}",
            f"{law.statistics['n_points']:g} / {law.statistics['dof']:g}",
        )
        for law in laws
    ]
    if not rows:
        return "<p>There is no joint or approximate law.</p>"
    head = (
        "law", "task", "α", "<i>L</i><sub>∞</sub>", "f(p)", "<i>R</i>²",
        "RMSE", "points / dof",
    )  # fmt: skip
    return table(head, rows, text_columns=2)


def _capacity(law: Law) -> str:
    if law.kind != "approximate":
        return "–"
    names = [name for name in law.parameters if name not in _SHARED]
    shown = ", ".join(f"{name} {law.parameters[name]:.3g}" for name in names)
    return f"{escape(law.form)}: {escape(shown)}"


def backtest_table(record: RunRecord) -> str:
    """How well each degree of sharing predicts sizes it did not see."""
    rows = [
        (
            escape(test_set),
            f"<b>{law.law}</b>" if law.law == one.chosen else law.law,
            SHARING[law.law],
            f"{law.rmse:.4f}",
            f"{law.coefficients}",
            f"{law.points}",
        )
        for test_set, one in record.backtests.items()
        for law in one.candidates
    ]
    if not rows:
        return ""
    head = ("test set", "law", "shared by the weightings", "RMSE", "coefficients")
    head = (*head, "points")
    schemes = "; ".join(dict.fromkeys(one.scheme for one in record.backtests.values()))
    words = (
        f"<h3>Back-test</h3><p class=fine>{escape(schemes)}. What is bold predicts "
        "best; persistence repeats the value of the next smaller size.</p>"
    )
    return words + table(head, rows, text_columns=2)


def recommendation_table(record: RunRecord) -> str:
    """The recommended weights beside the usual ways to choose."""
    advice = record.recommendation
    if not advice:
        return ""
    tasks = list(advice["weights"])
    head = ["weights", *(f"p {escape(t)}" for t in tasks)]
    one = quantity(record).one
    head += [f"{one} {escape(t)}" for t in tasks] + ["objective", "behind by"]
    rows = [
        [
            "<b>recommended</b>",
            *(f"{advice['weights'][t]:.3f}" for t in tasks),
            *(number(advice["losses"][t]) for t in tasks),
            number(advice["believed"]),
            "–",
        ]
    ]
    for other in advice["alternatives"]:
        low, high = other["gain_interval"]
        rows.append(
            [
                escape(other["name"]),
                *(f"{other['weights'][t]:.3f}" for t in tasks),
                *(number(other["losses"][t]) for t in tasks),
                number(other["objective"]),
                f"{number(other['gain'])} ({number(low)} to {number(high)})",
            ]
        )
    return table(head, rows)


def data_card(record: RunRecord) -> str:
    """What the data are: read, rejected by rule, kept, tokens, epochs."""
    columns = [
        task for task in record.tasks if task in {*record.counts, *_tokens(record)}
    ]
    if not columns:
        return "<p>This run has no counts of its data.</p>"
    rows = [*_ingest_rows(record, columns), *_token_rows(record, columns)]
    rows += _epoch_rows(record, columns)
    return table(["", *map(escape, columns)], rows)


def _tokens(record: RunRecord) -> Mapping[str, Mapping]:
    return record.tokens.get("tasks", {})


def _ingest_rows(record: RunRecord, columns: Sequence[str]) -> list[list[str]]:
    counts = record.counts
    if not counts:
        return []
    found = [["pairs read", *(_count(counts.get(t, {}).get("read")) for t in columns)]]
    rules = dict.fromkeys(r for t in columns for r in counts.get(t, {})["rejected"])
    for rule in rules:
        cells = (_count(counts[t]["rejected"].get(rule, 0)) for t in columns)
        found.append([f"rejected: {escape(rule.replace('_', ' '))}", *cells])
    found.append(
        ["kept to train on", *(_count(counts[t].get("train")) for t in columns)]
    )
    sets = dict.fromkeys(name for t in columns for name in counts[t].get("test", {}))
    for name in sets:
        cells = (_count(counts[t]["test"].get(name)) for t in columns)
        found.append([f"test set {escape(name)}", *cells])
    return found


def _token_rows(record: RunRecord, columns: Sequence[str]) -> list[list[str]]:
    tasks = _tokens(record)
    if not tasks:
        return []
    splits = {t: tasks[t]["splits"] for t in columns}
    names = dict.fromkeys(name for t in columns for name in splits[t])
    found = []
    for name in names:
        for key, label in (
            ("target_tokens", "target tokens"),
            ("dropped_too_long", "dropped as too long"),
        ):
            cells = (_count(splits[t].get(name, {}).get(key)) for t in columns)
            found.append([f"{label}, {escape(name)}", *cells])
    for key, label in (
        ("unknown_rate", "unknown pieces"),
        ("fill", "useful positions"),
    ):
        cells = (_share(splits[t].get("train", {}).get(key)) for t in columns)
        found.append([f"{label}, train", *cells])
    size = record.tokens.get("vocabulary_size")
    found.append(["vocabulary (shared)", *([_count(size)] * len(columns))])
    return found


def _epoch_rows(record: RunRecord, columns: Sequence[str]) -> list[list[str]]:
    """How often the data of each task were seen, from the least to the most."""
    cells = []
    for task in columns:
        seen = [e.epochs[task] for e in record.endings if e.epochs.get(task)]
        cells.append(f"{min(seen):.2g} – {max(seen):.2g}" if seen else "–")
    return [["passes over the data, by trial", *cells]] if set(cells) != {"–"} else []


def timing_table(record: RunRecord) -> str:
    """Seconds of each step, with a bar."""
    seconds = {verb: made.seconds for verb, made in record.manifests.items()}
    if not seconds:
        return "<p>This run has no timings.</p>"
    total = sum(seconds.values())
    rows = [
        (
            verb,
            _duration(value),
            f"<span class=bar style='width:{100 * value / max(total, 1e-9):.1f}%'>"
            "</span>",
        )
        for verb, value in seconds.items()
    ]
    return table(("step", "time", ""), [*rows, ("<b>total</b>", _duration(total), "")])


def failed_table(record: RunRecord) -> str:
    """The trials that have no final loss, and why."""
    rows = [(escape(e.trial), escape(e.reason or "–")) for e in record.failed]
    if not rows:
        return "<p>No trial failed.</p>"
    return table(("trial", "reason"), rows, text_columns=2)


def provenance_table(record: RunRecord) -> str:
    """Versions and keys: what would make the same page again."""
    packages: dict[str, str] = {}
    for made in record.manifests.values():
        packages |= made.packages
    versions = table(("package", "version"), sorted(packages.items()), text_columns=2)
    keys = table(
        ("artifact", "key", "inputs"),
        [
            (
                verb,
                f"<code>{made.key[:16]}</code>",
                ", ".join(escape(name) for name in made.inputs) or "–",
            )
            for verb, made in record.manifests.items()
        ],
        text_columns=3,
    )
    return keys + versions


def number(value: float | None, digits: int = 4) -> str:
    """A loss; ``?`` where it is open."""
    if value is None or not math.isfinite(value):
        return "?"
    return f"{value:.{digits}f}"


def pair(law: Law, name: str) -> str:
    """An estimate and its standard error."""
    error = law.standard_errors[name]
    if not math.isfinite(error):
        return f"{law.parameters[name]:.4f}"
    return f"{law.parameters[name]:.4f} ± {error:.2g}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.3g} %"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
