"""Laws of size, data and mixture from a table with learning curves."""

from __future__ import annotations

import numpy as np
import pytest

from components import fit
from components.artifacts import metrics_table
from components.artifacts.metrics_table import MetricsRow
from components.artifacts.trial import Trial, format_mixture
from components.fit import law_file, prediction
from models.errors import UserError
from models.laws.data_law import DataLaw
from models.laws.query import Query
from tests.models.laws.learning_curves import TOKENS, loss

SIZES = {"30k": 3e4, "60k": 6e4, "100k": 1e5, "200k": 2e5, "300k": 3e5}


@pytest.fixture(scope="module")
def laws(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves")
    rng = np.random.default_rng(2)
    rows = []
    for size, n in SIZES.items():
        for p in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            trial = Trial("en-xx", size, (("en-de", p), ("en-fr", 1 - p)))
            for task, own in (("en-de", p), ("en-fr", 1 - p)):
                common = 0.002 * rng.standard_normal()
                for step in range(100, 1001, 100):
                    tokens = own * TOKENS * step / 1000
                    if own == 0:
                        continue
                    value = loss(np.array(n), np.array(own), np.array(tokens))
                    rows.append(
                        MetricsRow(
                            trial=trial.id, cohort="en-xx", size=size, task=task,
                            p=own, mixture=format_mixture(dict(trial.mixture)),
                            n=int(n), step=step, tokens_seen=round(tokens),
                            loss=float(value * (1 + common)),
                            loss_kind="final" if step == 1000 else "curve",
                        )
                    )  # fmt: skip
    metrics_table.save(folder / "metrics.csv", rows)
    config = fit.Config(
        draws=20,
        held_out=fit.HeldOut(sizes=("300k",)),
        convergence=fit.Convergence(horizon=1.0),
    )
    fit.run(config, table=folder / "metrics.csv", output=folder / "fit")
    return folder / "fit"


def test_the_back_test_chooses_it_where_runs_have_seen_unequal_amounts(laws):
    content = law_file.load(laws)
    assert content.provenance.backtest["in_domain"].chosen == "data"
    known = [law for law in content.laws if isinstance(law, DataLaw)]
    assert [law.task for law in known] == ["en-de", "en-fr"]
    text = (laws / "report.txt").read_text()
    assert "held-out size, data law: median error" in text


def test_it_answers_for_other_amounts_of_data_after_it_was_saved(laws):
    n, p = 2.5e5, 0.3
    for tokens in (None, 2e6, 4e7):
        found = prediction.predict(laws, n, {"en-de": p}, tokens=tokens)
        own = p * (tokens or TOKENS)
        truth = float(loss(np.array(n), np.array(p), np.array(own)))
        assert found[0].law == "data"
        assert found[0].predicted == pytest.approx(truth, rel=0.01)
        assert found[0].low < found[0].predicted < found[0].high


def test_a_trade_off_uses_the_law_that_the_back_test_chose(laws):
    known = law_file.load(laws).known.trade_off()
    assert known.law.startswith("data law") and "choice" in known.backtest
    mixture = {"en-de": 0.5, "en-fr": 0.5}
    (first, _) = (law.predict(Query(1e6, mixture)) for law in known.laws)
    (asked, _) = prediction.predict(laws, 1e6, mixture)
    assert asked.predicted == pytest.approx(float(first))


def test_amounts_of_data_are_refused_where_no_law_knows_them(laws, tmp_path):
    bare = tmp_path / "bare.csv"
    lines = (laws.parent / "metrics.csv").read_text().splitlines()
    names = lines[0].split(",")
    drop = {names.index("tokens_seen")}
    with open(bare, "w") as file:
        for line in metrics_table.load(laws.parent / "metrics.csv"):
            cells = [str(getattr(line, n) or "") for n in names]
            if not file.tell():
                file.write(";".join(n for k, n in enumerate(names) if k not in drop))
                file.write("\n")
            kept = [cell for k, cell in enumerate(cells) if k not in drop]
            file.write(";".join(kept) + "\n")
    fit.run(fit.Config(draws=0), table=bare, output=tmp_path / "fit")
    with pytest.raises(UserError, match="knows amounts of data"):
        prediction.predict(tmp_path / "fit", 1e6, {"en-de": 0.5}, tokens=1e6)
