"""The command ``report``: the page of an experiment, a run or a fit, or of several."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from components import report
from models.errors import UserError
from pipeline.experiment_commands import OneStep
from pipeline.options import Call, option, options_of

_OF_FILES = ("--set", "--workdir", "--jobs", "--force")
_FLAGS = {"dots_per_inch": "--dpi", "movement_percent": "--movement"}
_OF_FOLDERS = ("--out", "--title", "--test-set", "--level", *_FLAGS.values())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """One page with every figure, which opens in any browser.

      polyscale report quickstart          the last step of an experiment
      polyscale report runs/quickstart     a run's folder
      polyscale report laws                what `polyscale fit my_runs.csv --out laws`
                                           made: nothing has to be trained
      polyscale report A B --out page      runs, cohorts or test sets beside each other,
                                           and whether their laws differ

    Attributes:
      sources: An experiment file or its name, or folders of runs or fits.
      out: Folder for the page; DIR/report when left out.
      config: What the page shows.
      set: With an experiment file, override a value of it; may be repeated.
      workdir: With an experiment file, where the artifacts live.
      jobs: With an experiment file, as of the other steps.
      force: With an experiment file, although it is done.
    """

    sources: tuple[str, ...] = option("SOURCE", positional=True, split=False)
    out: Path | None = option("DIR", default=None)
    config: report.Config = options_of(report.Config, flags=_FLAGS)
    set: tuple[str, ...] = option("SECTION.KEY=VALUE", default=(), split=False)
    workdir: Path | None = option("DIR", default=None)
    jobs: int | None = None
    force: bool = False

    def run(self, call: Call) -> None:
        """Makes the page, and prints where it is."""
        folders = [Path(source) for source in self.sources]
        if not any(folder.is_dir() for folder in folders):
            self._of_experiment(call)
            return
        call.refuse(*_OF_FILES, because="it belongs to an experiment file")
        if len(folders) > 1:
            if self.out is None:
                raise UserError(
                    "report: several runs need --out, a folder for the page"
                )
            report.compare(self.config, folders=folders, output=self.out)
            print(self.out / "index.html")
            return
        output = self.out or folders[0] / "report"
        report.run(self.config, workdir=folders[0], output=output)
        print(output / "index.html")

    def _of_experiment(self, call: Call) -> None:
        if len(self.sources) > 1:
            raise UserError(
                f"report: no folder {self.sources[0]}; expected one experiment, or the "
                "folders of several runs or fits"
            )
        call.refuse(
            *_OF_FOLDERS,
            because="the experiment's file says it (section report, --set)",
        )
        step = OneStep(
            experiment=self.sources[0], set=self.set, workdir=self.workdir,
            jobs=self.jobs, force=self.force,
        )  # fmt: skip
        step.run(call)
