"""report: every artifact of a run -> one self-contained page and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from components.artifacts.manifest import Manifest
from components.report.config import Config

__all__ = ["Config", "compare", "run"]


def run(config: Config, *, workdir: Path, output: Path) -> Manifest:
    """Draws the figures and writes the page.

    Whatever the run does not have (nothing held out, one task, a law that could not
    be fitted) is named on the page; it is no error.

    Args:
      config: What to show.
      workdir: Folder with the artifacts of the other steps, or the one that ``fit``
        made from a table.
      output: Folder for ``index.html``, ``figures/`` and ``summary.json``.

    Raises:
      UserError: ``workdir`` holds no artifact of a run.
    """
    from components.report.step import make_report

    return make_report(config, workdir=workdir, output=output)


def compare(config: Config, *, folders: Sequence[Path], output: Path) -> Manifest:
    """Draws several runs beside each other and tests whether their laws differ.

    Args:
      config: What to show; every test set when it names none.
      folders: Of runs, or of fits.
      output: Folder for ``index.html``, ``figures/`` and ``summary.json``.

    Raises:
      UserError: A folder holds no laws, or there is only one law to show.
    """
    from components.report.step import make_comparison

    return make_comparison(config, folders=folders, output=output)
