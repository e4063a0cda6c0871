"""What no single section can know: checks across the sections of an experiment.

They run when a file is loaded, before any work; each failure names the full key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components import ingest
from components.ingest.sources.inputs import list_inputs
from models.errors import FieldError, UserError, suggestion
from models.nmt.sizes import get_shape
from pipeline import grid

if TYPE_CHECKING:
    from pipeline.experiment import Experiment

# A law of three coefficients needs a fourth size to have any residual at all.
MIN_FITTED_SIZES = 4

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TASK = re.compile(r"([A-Za-z0-9_]+)-([A-Za-z0-9_]+)")


def check(experiment: Experiment) -> None:
    """Raises ``FieldError`` for the first contradiction in an experiment."""
    _check_name("name", experiment.name)
    _check_name("cohort", experiment.cohort)
    _check_tasks(experiment.tasks)
    _check_sizes("train.sizes", experiment.train.sizes)
    _check_known_sizes("train.steps_by_size", experiment.train.steps_by_size)
    if not experiment.train.seeds:
        raise FieldError("train.seeds", "expected at least one seed, such as 0")
    mixtures = _mixtures("train.mixtures", experiment.train.mixtures, experiment.tasks)
    _check_no_twins("train.mixtures", mixtures)
    _check_no_twins("train.seeds", experiment.train.seeds)
    _check_held_out(experiment, mixtures)
    _check_data(experiment)
    _check_kept_weights(experiment)
    _check_select(experiment)


def check_fit(experiment: Experiment) -> None:
    """Raises ``FieldError`` where too little remains for a law.

    Not part of `check`: text can be prepared and models trained without one.
    """
    held_out = experiment.fit.held_out
    held_mixtures = _mixtures(
        "fit.held_out.mixtures", held_out.mixtures, experiment.tasks
    )
    mixtures = _mixtures("train.mixtures", experiment.train.mixtures, experiment.tasks)
    fitted = [m for m in mixtures if not any(_same(m, held) for held in held_mixtures)]
    if not fitted:
        raise FieldError(
            "fit.held_out.mixtures",
            "every mixture is held out; none is left for the fit",
        )
    sizes = experiment.train.sizes
    remaining = [size for size in sizes if size not in held_out.sizes]
    given = (
        MIN_FITTED_SIZES if experiment.fit.single_size else len(experiment.fit.fixed)
    )
    needed = max(1, MIN_FITTED_SIZES - given)
    if len(remaining) < needed:
        raise FieldError(
            "train.sizes",
            f"{len(remaining)} sizes remain for the fit "
            f"({', '.join(remaining) or 'none'}), a law needs {needed}; add sizes, "
            "hold out fewer (fit.held_out.sizes) or give a coefficient (fit.fixed)",
        )


def check_files(experiment: Experiment, base: Path) -> None:
    """Raises ``UserError`` unless there is text to read for every task.

    Not part of `check`: a sweep can be planned where its data is not.

    Args:
      experiment: The experiment.
      base: Folder that relative paths start from: that of the experiment file.
    """
    list_inputs(experiment.ingest, base, experiment.tasks)
    contrastive = experiment.select.contrastive if experiment.select else None
    for name, text in contrastive.better_text.items() if contrastive else ():
        config = ingest.Config(source="text", text=text)
        try:
            list_inputs(config, base, experiment.tasks)
        except UserError as error:
            field = f"select.contrastive.{name}"
            raise UserError(str(error).replace("ingest.text", field, 1)) from None


def _check_name(field: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise FieldError(
            field,
            f"{name!r} names folders: expected letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit",
        )


def _check_tasks(tasks: Sequence[str]) -> None:
    if not tasks:
        raise FieldError("tasks", "expected at least one task, such as en-de")
    for index, task in enumerate(tasks):
        match = _TASK.fullmatch(task)
        if not match:
            raise FieldError(
                f"tasks[{index}]",
                f"expected source-target language codes, such as en-de; found {task!r}",
            )
        if match[1] == match[2]:
            problem = f"{task!r} translates a language into itself"
            raise FieldError(f"tasks[{index}]", problem)
    _check_no_twins("tasks", tasks)


def _check_sizes(field: str, sizes: Sequence[str]) -> None:
    if not sizes:
        raise FieldError(field, "expected at least one size, such as 9k")
    _check_known_sizes(field, sizes)
    _check_no_twins(field, sizes)


def _check_known_sizes(field: str, sizes: Sequence[str] | Mapping[str, int]) -> None:
    for index, size in enumerate(sizes):
        try:
            get_shape(size)
        except UserError as error:
            key = (
                f"{field}.{size}" if isinstance(sizes, Mapping) else f"{field}[{index}]"
            )
            raise FieldError(key, str(error)) from None


def _mixtures(
    field: str, values: Sequence[float | Mapping[str, float]], tasks: Sequence[str]
) -> list[grid.Mixture]:
    if not values and field.startswith("train."):
        raise FieldError(field, "expected at least one mixture, such as 0.5")
    mixtures = []
    for index, value in enumerate(values):
        try:
            mixtures.append(grid.mixture(value, tasks))
        except UserError as error:
            raise FieldError(f"{field}[{index}]", str(error)) from None
    return mixtures


def _check_held_out(experiment: Experiment, mixtures: list[grid.Mixture]) -> None:
    """Held-out sizes and mixtures are trained."""
    sizes = experiment.train.sizes
    held_out = experiment.fit.held_out
    for index, size in enumerate(held_out.sizes):
        if size not in sizes:
            known = ", ".join(sizes)
            raise FieldError(
                f"fit.held_out.sizes[{index}]",
                f"{size} is not among train.sizes ({known}), so there is nothing to "
                f"compare a prediction with{suggestion(size, sizes)}",
            )
    field = "fit.held_out.mixtures"
    held_mixtures = _mixtures(field, held_out.mixtures, experiment.tasks)
    for index, mixture in enumerate(held_mixtures):
        if not any(_same(mixture, trained) for trained in mixtures):
            raise FieldError(
                f"{field}[{index}]",
                f"{_shown(mixture)} is not among train.mixtures, so there is nothing "
                "to compare a prediction with",
            )


def _check_data(experiment: Experiment) -> None:
    """Every task that has a weight somewhere has text, if text is the source."""
    if experiment.ingest.source != "text":
        return
    known = experiment.ingest.text
    for task in experiment.tasks:
        if task not in known:
            raise FieldError(
                f"ingest.text.{task}",
                "missing; expected a section with source and target, or files, of "
                f"this task{suggestion(task, known)}",
            )


def _check_kept_weights(experiment: Experiment) -> None:
    """A curve of quality needs the weights along the learning curve."""
    quality = experiment.evaluate.quality
    if quality is not None and quality.curve and not experiment.train.keep_weights:
        raise FieldError(
            "evaluate.quality.curve",
            "translates with the weights of every evaluation, which are not kept; set "
            "train.keep_weights: true",
        )


def _check_select(experiment: Experiment) -> None:
    """Shares are of tasks that there are; better text is there for each of them."""
    online = experiment.select is not None and experiment.select.online
    if experiment.train.anneal is not None and not online:
        raise FieldError(
            "train.anneal", "draws from the best rows; say select.online: true"
        )
    if experiment.select is None:
        return
    keep, contrastive = experiment.select.keep, experiment.select.contrastive
    if isinstance(keep, Mapping):
        for task in keep:
            if task not in experiment.tasks:
                known = ", ".join(experiment.tasks)
                raise FieldError(
                    f"select.keep.{task}",
                    f"is not one of the tasks ({known})"
                    + suggestion(task, experiment.tasks),
                )
    if contrastive is None:
        return
    try:
        get_shape(contrastive.size)
    except UserError as error:
        raise FieldError("select.contrastive.size", str(error)) from None
    for name, text in contrastive.better_text.items():
        for task in experiment.tasks:
            if task not in text:
                raise FieldError(
                    f"select.contrastive.{name}.{task}",
                    "missing; expected a section with source and target, or files, of "
                    f"this task{suggestion(task, text)}",
                )


def _check_no_twins(field: str, values: Sequence) -> None:
    for index, value in enumerate(values):
        twins = [
            i
            for i in range(index)
            if (_same(values[i], value) if field == "train.mixtures" else False)
            or values[i] == value
        ]
        if twins:
            shown = _shown(value) if isinstance(value, tuple) else value
            problem = f"{shown} is already there, as {field}[{twins[0]}]"
            raise FieldError(f"{field}[{index}]", problem)


def _same(one: grid.Mixture, other: grid.Mixture) -> bool:
    return all(
        math.isclose(a, b, abs_tol=1e-9)
        for (_, a), (_, b) in zip(one, other, strict=True)
    )


def _shown(mixture: grid.Mixture) -> str:
    return "{" + ", ".join(f"{task}: {weight:g}" for task, weight in mixture) + "}"
