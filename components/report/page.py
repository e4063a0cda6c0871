"""The page: one file, no request to anywhere; what it says is in ``template.html``."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from components.fit import held_out
from components.report import findings, held_out_figure, summary, words
from components.report.config import Config
from components.report.record import RunRecord
from components.report.samples import TaskSamples
from components.version import VERSION
from models.laws import ApproximateLaw, BivariateLaw, IndividualLaw, Law
from models.laws.backtest import SHARING

TEMPLATE = "template.html"
_FOLDER = Path(__file__).parent
_WIDE = 520.0  # points; narrower figures shrink to a phone's width
_POINT = 1.42  # pixels of the page
_SHARED = ("alpha", "beta", "irreducible_loss")

_XML_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_WHITE = re.compile(r"((?:fill|stroke): )#ffffff")
_SIZE = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')


@dataclasses.dataclass(frozen=True)
class Inline:
    """A figure as an element of the page.

    Attributes:
      svg: The element, as wide as what holds it.
      pixels: How wide it is at most.
      wide: Whether a phone scrolls it instead of shrinking it.
    """

    svg: Markup
    pixels: int
    wide: bool


def inline(svg: str, name: str) -> Inline:
    """An SVG document as an element of the page, with ids of its own.

    Args:
      svg: The document.
      name: Of the figure; keeps its ids apart from those of others.
    """
    text = _METADATA.sub("", _XML_HEAD.sub("", svg, count=1), count=1)
    text = _WHITE.sub(r"\1var(--plot)", text)
    text = _IDS.sub(rf"\g<1>{name}-", text)
    points = float(_SIZE.search(text)[1])
    text = _SIZE.sub('width="100%"', text, count=1)
    return Inline(Markup(text.strip()), round(_POINT * points), points > _WIDE)


def compose(
    record: RunRecord,
    config: Config,
    figures: Mapping[str, Inline],
    absent: Mapping[str, str],
    samples: Sequence[TaskSamples] = (),
) -> str:
    """The page.

    Args:
      record: The run.
      config: What to show.
      figures: Name -> figure, in order.
      absent: Name -> why there is no such figure.
      samples: Translations of every task.
    """
    singles = [law for law in record.laws if len(law.weightings) == 1]
    return render(
        TEMPLATE,
        run=record,
        words=record.quantity,
        config=config,
        figures=figures,
        absent=absent,
        samples=samples,
        sentences=summary.sentences(record),
        tiles=summary.tiles(record),
        warnings=summary.warnings(record, config),
        findings=findings.find(record, config.level),
        remarks=summary.law_warnings(singles),
        held_out={k: held_out.chosen(record.compared, k) for k in held_out.KINDS},
        most_rows=held_out_figure.MOST_ROWS,
        laws=[law for law in record.laws if not isinstance(law, IndividualLaw)],
        sharing=SHARING,
        data=data_table(record),
    )


def render(template: str, **values: Any) -> str:
    """A page from its template and what the template names."""
    text = _environment().get_template(template).render(version=VERSION, **values)
    return text.lstrip()


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "count": words.count_text,
        "duration": words.duration,
        "grouped": words.grouped,
        "listed": words.listed,
        "number": words.number,
        "span": lambda ends, digits=4: words.span(*ends, digits),
        "estimate": _estimate,
        "capacity": _capacity,
    }
    environment.filters.update(filters)
    return environment


def _estimate(law: Law, name: str) -> str:
    """A coefficient with its error; a dash where the law has none of that name."""
    if name not in law.parameters:
        return "–"
    return words.with_error(law.parameters[name], law.standard_errors[name])


def _capacity(law: Law) -> str:
    """The capacity function of an approximate law, or the exponents of both sides."""
    if isinstance(law, BivariateLaw):
        sides = (("p_e", "alpha_enc"), ("p_d", "alpha_dec"))
        return ", ".join(f"{short} = {_estimate(law, name)}" for short, name in sides)
    if not isinstance(law, ApproximateLaw):
        return "–"
    own = {name: v for name, v in law.parameters.items() if name not in _SHARED}
    return f"{law.form}: {', '.join(f'{name} {v:.3g}' for name, v in own.items())}"


@dataclasses.dataclass(frozen=True)
class DataTable:
    """What the data are: a label and a cell for each task in every row."""

    tasks: list[str]
    rows: list[tuple[str, list[str]]]


def data_table(record: RunRecord) -> DataTable:
    """Pairs read, rejected by rule and kept; tokens; passes over the data."""
    tokens = record.tokens.tasks if record.tokens else {}
    tasks = [task for task in record.tasks if task in {*record.counts, *tokens}]
    rows: list[tuple[str, list[str]]] = []

    def add(label: str, value: Callable[[str], Any], shown=words.grouped) -> None:
        rows.append((label, [shown(value(task)) for task in tasks]))

    counts = {task: record.counts.get(task, {}) for task in tasks}
    if record.counts:
        rejected = {task: counts[task].get("rejected", {}) for task in tasks}
        tests = {task: counts[task].get("test", {}) for task in tasks}
        add("pairs read", lambda t: counts[t].get("read"))
        for rule in _names(rejected):
            label = f"rejected: {rule.replace('_', ' ')}"
            add(label, lambda t, rule=rule: rejected[t].get(rule, 0))
        add("kept to train on", lambda t: counts[t].get("train"))
        for name in _names(tests):
            add(f"test set {name}", lambda t, name=name: tests[t].get(name))
    if record.tokens:
        splits = {task: tokens[task].splits if task in tokens else {} for task in tasks}
        for name in _names(splits):
            held = {task: splits[task].get(name) for task in tasks}
            add(
                f"target tokens, {name}",
                lambda t, of=held: of[t] and of[t].target_tokens,
            )
            add(
                f"dropped as too long, {name}",
                lambda t, of=held: of[t] and of[t].dropped_too_long,
            )
        train = {task: splits[task].get("train") for task in tasks}
        add(
            "unknown pieces, train",
            lambda t: train[t] and train[t].unknown_rate,
            _share,
        )
        add("used positions, train", lambda t: train[t] and train[t].fill, _share)
        add("vocabulary (shared)", lambda t: record.tokens.vocabulary_size)
    if tasks and any(end.epochs for end in record.trials):
        add("passes over the data, by trial", lambda t: _epochs(record, t), str)
    return DataTable(tasks, rows if tasks else [])


def _names(by_task: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The keys of every task, each once."""
    return list(dict.fromkeys(name for held in by_task.values() for name in held))


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.3g} %"


def _epochs(record: RunRecord, task: str) -> str:
    """How often the data of a task were seen, from the least to the most."""
    seen = [end.epochs[task] for end in record.trials if end.epochs.get(task)]
    return f"{min(seen):.2g} – {max(seen):.2g}" if seen else "–"
