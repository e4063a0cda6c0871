"""Any table gives laws or one sentence; never a traceback, never a silent NaN."""

from __future__ import annotations

import csv
import json
import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from components import fit, recommend
from components.fit import law_file
from components.fit.prediction import predict
from models.errors import UserError
from models.laws import Query

ORDINARY = st.floats(0.5, 6.0)
NUMBERS = st.one_of(
    ORDINARY.map(lambda x: f"{x:.4f}"),
    st.sampled_from(["", "nan", "inf", "-1", "0", "abc", "1e400", "1e-300", "1e300"]),
)
SHARES = st.sampled_from(["0", "0.1", "0.3", "0.5", "0.9", "1", "1.1", "-0.1", "x", ""])
SIZES = st.sampled_from(["1000", "2e4", "3e5", "4e6", "5e9", "0", "-3", "big", ""])
TASKS = st.sampled_from(["en-de", "en-zh", "", "en-fr"])
MIXTURES = st.sampled_from(
    ["", "en-de=0.3,en-zh=0.7", "en-de=1", "en-de=0.5", "nonsense", "en-de=0.1,en-de=1"]
)
ANY_ROW = st.tuples(TASKS, SIZES, SHARES, NUMBERS, MIXTURES)
GOOD_ROW = st.tuples(
    st.sampled_from(["en-de", "en-zh"]),
    st.sampled_from(["1000", "2e4", "3e5", "4e6", "5e7", "8e8"]),
    st.sampled_from(["0", "0.1", "0.3", "0.5", "0.7", "0.9", "1"]),
    ORDINARY.map(lambda x: f"{x:.4f}"),
    st.just(""),
)
QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # a failing table is small anyway
    suppress_health_check=[HealthCheck.too_slow],
)


def run(rows: list[tuple], folder: Path, config: fit.Config) -> bool:
    """Fits a table; False when it was refused in one line."""
    with open(folder / "runs.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "n", "p", "loss", "mixture"])
        writer.writerows(rows)
    try:
        fit.run(config, table=folder / "runs.csv", output=folder / "fit")
    except UserError as error:
        assert "\n" not in str(error) and len(str(error)) > 20
        return False
    return True


def check_laws(folder: Path) -> None:
    """No number of a law file is NaN or infinite; every law predicts itself."""
    text = (folder / "fit" / "laws.json").read_text()
    json.loads(text, parse_constant=lambda name: 1 / 0)
    for law in law_file.load(folder / "fit").laws:
        assert all(math.isfinite(value) for value in law.parameters.values())
        for weighting in law.weightings:
            for n in law.fitted_range["n"]:
                value = float(law.predict(Query(n, weighting)))
                low, high = law.interval(Query(n, weighting))
                assert math.isfinite(value)
                assert not math.isnan(low) and low <= value <= high
        assert law.describe()


@QUICK
@given(st.lists(ANY_ROW, max_size=8))
def test_any_cells_give_laws_or_one_sentence(rows: list[tuple]) -> None:
    with tempfile.TemporaryDirectory() as name:
        if run(rows, Path(name), fit.Config(draws=3)):
            check_laws(Path(name))


@QUICK
@given(st.lists(GOOD_ROW, min_size=3, max_size=40, unique_by=lambda r: r[:3]))
def test_any_losses_give_finite_laws_or_one_sentence(rows: list[tuple]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = fit.Config(draws=3, laws=("individual", "joint", "approximate"))
        if not run(rows, folder, config):
            return
        check_laws(folder)
        try:
            for one in predict(folder / "fit", 1e9, {"en-de": 0.4, "en-zh": 0.6}):
                assert math.isfinite(one.predicted)
            recommend.run(
                recommend.Config(points=5),
                laws=folder / "fit",
                output=folder / "recommend",
            )
        except UserError as error:
            assert "\n" not in str(error)
            return
        record = (folder / "recommend" / "recommendation.json").read_text()
        weights = json.loads(record, parse_constant=lambda name: 1 / 0)["weights"]
        assert math.isclose(sum(weights.values()), 1.0, abs_tol=1e-9)
