"""Commands that ask fitted laws: ``predict``, ``frontier`` and ``recommend``."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from components import recommend
from models.errors import FieldError, UserError
from pipeline.options import Call, option, options_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Question:
    """What is asked of laws.

    Attributes:
      laws: The file that `fit` wrote, its folder, or that of a run.
    """

    laws: Path = option("LAWS.json", positional=True)

    @property
    def source(self) -> Path:
        """The file of laws or its folder."""
        inside = self.laws / "fit"
        return inside if inside.is_dir() else self.laws


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(_Question):
    """What the laws say about a size and a mixture, or about every row of a table, with
    95 % intervals for a newly trained model. Points outside of what was fitted say so.

      polyscale predict laws --n 1e9 --p en-de=0.3,en-zh=0.7
      polyscale predict laws --table rows.csv --out predicted.csv
      polyscale predict laws --n-enc 2e8 --n-dec 1e8         bivariate laws: a shape

    Attributes:
      n: Non-embedding parameters of the model, for example 1e9.
      p: The mixture, en-de=0.3,en-zh=0.7; with two tasks one is enough.
      table: Rows with task, n and p or mixture, instead of --n and --p.
      tokens: Training tokens of all tasks, for laws of size and data; as many as the
        fitted runs had when left out.
      n_enc: Parameters of the encoder, for bivariate laws.
      n_dec: Parameters of the decoder, for bivariate laws.
      by: The group of runs, where the fit kept several apart: arch=B.
      level: Nominal coverage of the intervals.
      out: Where to write the predictions; standard output when left out.
      json: For a program to read.
    """

    n: float | None = option("N", default=None)
    p: Mapping[str, float] | None = option("TASK=X,...", default=None)
    table: Path | None = option("ROWS.csv", default=None)
    tokens: float | None = option("N", default=None)
    n_enc: float | None = option("N", default=None)
    n_dec: float | None = option("N", default=None)
    by: Mapping[str, str] = option("COLUMN=X,...", default_factory=dict)
    level: float = recommend.Config.level
    out: Path | None = option("FILE", default=None)
    json: bool = False

    def __post_init__(self) -> None:
        _check_positive(self, "n", "n_enc", "n_dec")
        _check_level(self.level)

    def run(self, call: Call) -> None:
        """Prints or writes the predictions."""
        from components.artifacts.outputs import deliver
        from components.fit import prediction

        has_shape = self.n_enc is not None or self.n_dec is not None
        by_point = self.n is not None or (self.p is not None and not has_shape)
        if (self.table is not None) + by_point + has_shape != 1:
            raise UserError(
                "predict: expected either --n and --p, or --n-enc and --n-dec, or "
                "--table"
            )
        if self.table is not None:
            call.refuse("--p", "--json", because="--table writes a table of its rows")
            table = prediction.predict_table(
                self.source, self.table, self.level, self.by
            )
            deliver(table, self.out)
            return
        n, sides = None, None
        if has_shape:
            sides = (_given("n-enc", self.n_enc), _given("n-dec", self.n_dec))
        else:
            n = _given("n", self.n)
        found = prediction.predict(
            self.source,
            n,
            self.p or {},
            self.level,
            sides=sides,
            by=self.by,
            tokens=self.tokens,
        )
        if self.json:
            text = prediction.prediction_json(found)
        else:
            text = prediction.prediction_text(found)
        deliver(f"{text}\n", self.out)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frontier(_Question):
    """What every mixture costs each task at one size: the trade-off frontier, as CSV.

    Attributes:
      n: Non-embedding parameters of the model, for example 1e9.
      tokens: Training tokens of all tasks, for laws of size and data.
      points: Mixtures along the frontier.
      level: Nominal coverage of the intervals.
      test_set: Whose laws decide; in_domain or else the only one when left out.
      by: The group of runs, where the fit kept several apart: arch=B.
      out: The CSV to write; standard output when left out.
    """

    n: float = option("N")
    tokens: float | None = option("N", default=None)
    points: int = recommend.Config.points
    level: float = recommend.Config.level
    test_set: str | None = None
    by: Mapping[str, str] = option("COLUMN=X,...", default_factory=dict)
    out: Path | None = option("FILE", default=None)

    def __post_init__(self) -> None:
        _check_positive(self, "n")
        _check_level(self.level)
        if self.points < 2:
            raise FieldError("points", f"{self.points}; expected 2 or more")

    def run(self, call: Call) -> None:
        """Writes the frontier."""
        from components.artifacts.outputs import deliver
        from components.recommend import decision
        from models.laws.frontier import frontier

        config = recommend.Config(test_set=self.test_set, by=self.by)
        known = decision.trade_off(self.source, config)
        if self.tokens is not None and not known.laws[0].knows_tokens:
            raise UserError(
                f"--tokens: the {known.laws[0].kind} law does not know amounts of "
                "data; fit a table with the columns step and tokens_seen"
            )
        found = frontier(known.laws, self.n, self.points, self.level, self.tokens)
        deliver(decision.frontier_csv([found]), self.out)
        for text in decision.doubts(known, self.n):
            print(text, file=sys.stderr)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recommend(_Question):
    """Mixture weights for a preference over the tasks, with intervals, the losses they
    should give, and what usual ways to choose weights would give instead.

      polyscale recommend laws --n 1e9 --prefer en-de=2,en-zh=1

    Attributes:
      json: For a program to read.
      config: What is asked.
    """

    config: recommend.Config = options_of(
        recommend.Config,
        only=(
            "n", "prefer", "objective", "require", "examples", "max_repeats",
            "planned_examples", "test_set", "by", "level",
        ),
    )  # fmt: skip
    json: bool = False

    def run(self, call: Call) -> None:
        """Prints the recommendation."""
        from components.recommend import decision

        if self.config.n is None:
            raise UserError("recommend: --n is missing")
        known = decision.trade_off(self.source, self.config)
        found = decision.ask(self.config, known, self.config.n)
        if self.json:
            print(json.dumps(decision.to_record(found), indent=1, ensure_ascii=False))
        else:
            print(decision.recommendation_text(found))


def _given(name: str, value: float | None) -> float:
    if value is None:
        raise UserError(f"predict: --{name} is missing")
    return value


def _check_positive(question: Predict | Frontier, *names: str) -> None:
    for name in names:
        value = getattr(question, name)
        if value is not None and not value > 0:
            raise FieldError(name, f"{value:g}; expected a positive number")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise FieldError("level", f"{level:g}; expected between 0 and 1")
