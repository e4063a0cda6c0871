"""report: every artifact of a run -> one self-contained page and its figures."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.report.config import Config

__all__ = ["Config", "run"]


def run(config: Config, *, workdir: Path, output: Path) -> Manifest:
    """Draws the figures and writes the page.

    Whatever the run does not have (nothing held out, one task, a law that could not
    be fitted) is named on the page; it is no error.

    Args:
      config: What to show.
      workdir: Folder with the artifacts of the other steps.
      output: Folder for ``index.html``, ``figures/`` and ``summary.json``.

    Raises:
      UserError: ``workdir`` holds no artifact of a run.
    """
    from components.report.step import make_report

    return make_report(config, workdir=workdir, output=output)
