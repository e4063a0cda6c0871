"""The command that compares trials: ``compare``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from models.errors import FieldError
from pipeline.options import Call, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compare:
    """Are trials different, or is it the choice of test sentences? Losses with 95 %
    intervals and p-values from a paired bootstrap over the sentences; where the test
    sets were translated (evaluate.quality), BLEU and chrF with sacrebleu's paired
    bootstrap test.

      polyscale compare runs/mine en-xx_9k_p0.30_s0 en-xx_9k_p0.50_s0

    Attributes:
      folder: Folder of a run, or of what `evaluate` made.
      trials: Two or more, the baseline first.
      task: Only this one.
      test_set: Only this one.
      resamples: Resamples of the sentences.
      seed: Of the resamples.
      json: For a program to read.
    """

    folder: Path = option("RUN", positional=True)
    trials: tuple[str, ...] = option("TRIAL", positional=True, split=False)
    task: str | None = option("TASK", default=None)
    test_set: str | None = None
    resamples: int = 1000
    seed: int = 0
    json: bool = False

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise FieldError("resamples", f"{self.resamples}; expected 1 or more")
        if self.seed < 0:
            raise FieldError("seed", f"{self.seed}; expected 0 or more")

    def run(self, call: Call) -> None:
        """Prints the comparison."""
        import json

        from components.evaluate.comparison import compare, table
        from components.evaluate.layout import SENTENCES

        inside = self.folder / "evaluate"
        found = compare(
            self.folder if (self.folder / SENTENCES).is_dir() else inside,
            self.trials,
            task=self.task,
            test_set=self.test_set,
            resamples=self.resamples,
            seed=self.seed,
        )
        if self.json:
            records = [
                dataclasses.asdict(one) | {"difference": one.difference}
                for one in found
            ]
            print(json.dumps(records, indent=1, ensure_ascii=False))
        else:
            sys.stdout.write(table(found))
