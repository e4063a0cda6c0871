"""Commands that make laws without an experiment: ``fit`` and ``simulate``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from components import fit
from models.errors import UserError
from pipeline.options import Call, option, options_of

_FLAGS = {
    "laws": "--law",
    "fixed": "--fix",
    "test_sets": "--test-set",
    "held_out.sizes": "--hold-out",
    "held_out.mixtures": "--hold-out-mixture",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
    """Scaling laws of any table of runs (CSV or Parquet). Only the columns task, n, p
    and loss are required: n counts non-embedding parameters, p is the task's sampling
    probability, loss is in nats per target token. Writes laws.json, coefficients.csv,
    report.txt, held_out.csv and points.csv; prints what they come to. `polyscale
    report DIR` draws the figures.

    Attributes:
      table: CSV or Parquet file, or the folder of a run or of what `evaluate` made.
      out: Folder for the laws.
      verbose: Print the whole report instead.
      config: How to fit.
    """

    table: Path = option("TABLE", positional=True)
    out: Path = option("DIR")
    verbose: bool = False
    config: fit.Config = options_of(fit.Config, flags=_FLAGS)

    def run(self, call: Call) -> None:
        """Fits, and prints the summary."""
        try:
            fit.run(self.config, table=_table_of(self.table), output=self.out)
        except OSError as error:
            raise UserError(
                f"--out {self.out}: cannot be written: {error.strerror}"
            ) from None
        name = "report.txt" if self.verbose else "summary.txt"
        sys.stdout.write((self.out / name).read_text(encoding="utf-8"))
        print(f"figures: polyscale report {self.out}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Simulate:
    """A table of runs from known laws with the noise of real ones: to try the other
    commands without training anything, to teach with, to see what a fit can recover.

      polyscale simulate --tasks 2 --out runs.csv && polyscale fit runs.csv --out laws

    Attributes:
      tasks: Tasks that the mixtures are over.
      noise: Standard deviation of a measured loss, in nats.
      seed: Of the noise.
      out: The CSV to write; standard output when left out.
    """

    tasks: int = 2
    noise: float = option("SD", default=0.003)
    seed: int = 0
    out: Path | None = option("FILE", default=None)

    def run(self, call: Call) -> None:
        """Writes the table."""
        from components.artifacts.outputs import deliver
        from components.fit.simulation import simulate_table

        deliver(simulate_table(self.tasks, self.noise, self.seed), self.out)


def _table_of(path: Path) -> Path:
    """The folder that `evaluate` made, where a run's folder was named."""
    return path / "evaluate" if (path / "evaluate").is_dir() else path
