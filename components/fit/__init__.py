"""fit: a table of runs -> scaling laws with uncertainty."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.fit.config import Config, Convergence, HeldOut

__all__ = ["Config", "Convergence", "HeldOut", "run"]


def run(config: Config, *, table: Path, output: Path) -> Manifest:
    """Fits the laws of a table of runs.

    Args:
      config: What to fit and how.
      table: CSV or Parquet file of runs, or the folder that ``evaluate`` made.
      output: Folder for ``laws.json``, ``coefficients.csv``, ``report.txt``,
        ``held_out.csv``, ``points.csv`` and, where the table has a metric beside its
        losses, ``quality.csv``.

    Raises:
      UserError: The table cannot be read, or holds too little for a law.
    """
    from components.fit.step import fit_table

    return fit_table(config, table=table, output=output)
