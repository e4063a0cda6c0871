"""An experiment: one YAML file, composed of every component's own ``Config``."""

from __future__ import annotations

import dataclasses
import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components import evaluate, fit, ingest, recommend, report, select, tokenize, train
from components.artifacts.manifest import plain
from components.artifacts.trial import Trial
from models.errors import FieldError, UserError
from pipeline import cross_checks, grid, loader, overrides, yaml_text

SHIPPED = Path(__file__).resolve().parent.parent / "configs"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """A sweep from text to report.

    Attributes:
      name: Names the default working directory, ``runs/<name>``.
      cohort: The set of tasks, as it appears in trial ids (``en-xx``).
      tasks: Language-pair directions, ``en-de``.
      ingest, select, tokenize, train, evaluate, fit, recommend, report: What each
        step is told; see the ``Config`` of the component of that name. Without a
        section ``select`` there is no such step.
    """

    name: str
    cohort: str
    tasks: tuple[str, ...]
    ingest: ingest.Config = dataclasses.field(default_factory=ingest.Config)
    select: select.Config | None = None
    tokenize: tokenize.Config = dataclasses.field(default_factory=tokenize.Config)
    train: train.Config
    evaluate: evaluate.Config = dataclasses.field(default_factory=evaluate.Config)
    fit: fit.Config = dataclasses.field(default_factory=fit.Config)
    recommend: recommend.Config = dataclasses.field(default_factory=recommend.Config)
    report: report.Config = dataclasses.field(default_factory=report.Config)

    def __post_init__(self) -> None:
        cross_checks.check(self)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every (size, mixture, seed) of the sweep."""
        return grid.trials(
            cohort=self.cohort,
            tasks=self.tasks,
            sizes=self.train.sizes,
            mixtures=self.train.mixtures,
            seeds=self.train.seeds,
        )


def load(path: Path, set_values: Sequence[str] = ()) -> Experiment:
    """Reads, overrides and checks an experiment file.

    Args:
      path: The file, see `find`.
      set_values: Overrides of the form ``section.key=value``.

    Raises:
      UserError: One line: the file, the full key, what was found, what is expected.
    """
    tree = yaml_text.parse(_read(path), str(path))
    if tree is None:
        raise UserError(f"{path}: the file is empty; configs/ has examples to copy")
    if not isinstance(tree, dict):
        raise UserError(f"{path}: expected `key: value` lines, found something else")
    root = path.resolve().parent
    tree = overrides.apply(tree, set_values, lambda part: _from_here(part, root))
    try:
        return loader.build(Experiment, tree)
    except FieldError as error:
        overridden = overrides.is_overridden(error.field, set_values)
        origin = "--set" if overridden else str(path)
        raise UserError(f"{origin}: {_located(error)}") from None


def _from_here(part: Any, root: Path) -> Any:
    """What ``--set`` says, with paths from where the person stands made those of the
    file, where there is such a file."""

    def anchor(path: str) -> str:
        if "://" in path or not glob.glob(path):
            return path
        return os.path.relpath(path, root)

    return loader.anchored(part, Experiment, anchor)


def dump(experiment: Experiment) -> str:
    """The resolved experiment, one ``path: value`` a line, defaults included."""
    return "".join(f"{path}: {value}\n" for path, value in _leaves(plain(experiment)))


def find(path: Path) -> Path:
    """The file that a person means by ``path``.

    Args:
      path: A file, or the bare name of an experiment that ships with the package
        (``quickstart``).

    Raises:
      UserError: There is no such file.
    """
    shipped = SHIPPED / f"{path}.yaml"
    if not path.exists() and not path.suffix and shipped.is_file():
        return shipped
    if path.is_dir():
        raise UserError(f"{path}: is a directory, expected an experiment file (YAML)")
    if not path.exists():
        known = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
        if path.stem in known:
            raise UserError(f"{path}: no such file; the shipped one is {path.stem!r}")
        raise UserError(f"{path}: no such file (shipped: {', '.join(known)})")
    return path


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 text (byte {error.start}); an experiment file is YAML"
        ) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _located(error: FieldError) -> str:
    return f"{error.field}: {error.problem}" if error.field else error.problem


def _leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return [
            leaf
            for key, item in value.items()
            for leaf in _leaves(item, f"{path}.{key}" if path else key)
        ]
    return [(path, _text(value))]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
        return "{" + inner + "}"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value)
