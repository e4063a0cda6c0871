"""The fitted law of size, data and mixture."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UserError
from models.laws.choice import LawSet
from models.laws.data_choice import choose_spec
from models.laws.data_fit import evidence, fit_data
from models.laws.data_law import DataLaw, DataSpec, predict_rows
from models.laws.fitting import Options
from models.laws.query import Query
from tests.models.laws.learning_curves import TOKENS, curves, loss

ADDITIVE = DataSpec(join="additive", evidence=0.3)


@pytest.fixture(scope="module")
def law() -> DataLaw:
    rng = np.random.default_rng(1)
    return fit_data(curves(rng, noise=0.0), ADDITIVE, Options(draws=50))


def test_a_law_is_recovered_from_curves_without_noise(law):
    n = np.array([2e4, 1.5e5, 3e6])
    p = np.array([0.3, 0.55, 0.9])
    mixture = {"en-de": p, "en-fr": 1 - p}
    for tokens in (1e6, TOKENS, 3e7):
        found = law.predict(Query(n, mixture, tokens=tokens))
        np.testing.assert_allclose(found, loss(n, p, p * tokens), rtol=1e-4)
    np.testing.assert_allclose(
        law.predict(Query(n, mixture)), law.predict(Query(n, mixture, tokens=TOKENS))
    )
    endless = law.predict(Query(n, mixture, tokens=np.inf))
    np.testing.assert_allclose(endless, loss(n, p, np.full(3, 1e30)), rtol=1e-3)
    assert law.parameters["alpha"] == pytest.approx(0.35, rel=1e-2)
    assert law.parameters["irreducible_loss"] == pytest.approx(0.9, rel=1e-2)


def test_the_effective_fraction_is_that_of_the_capacity_function(law):
    f, low, high = law.effective_fraction({"en-de": 0.25, "en-fr": 0.75})
    assert low <= f <= high
    assert float(f) == pytest.approx(0.25 + 0.4 * 0.5 * 0.75, rel=0.02)


def test_intervals_count_runs_and_cover_new_ones():
    """60 tables at 5 and 8 sizes; 95 % of 360 gives 342 +/- 4 independent ones."""
    for sizes in (np.geomspace(3e4, 3e5, 5), np.geomspace(3e4, 3e5, 8)):
        rng = np.random.default_rng(len(sizes))
        inside = []
        for _ in range(30):
            law = fit_data(curves(rng, sizes), ADDITIVE)
            new = curves(rng, (9e4, 6e5), (0.3, 0.5, 0.8))
            final = new.take(new.step == 1000)
            for row in range(len(final)):
                one = final.take(np.array([row]))
                mixture = dict(zip(one.tasks, one.shares[0], strict=True))
                low, high = law.interval(Query(one.n[0], mixture, tokens=TOKENS))
                inside.append(low <= one.value[0] <= high)
        assert 0.91 <= np.mean(inside) <= 1.0
        assert law.dof == len(sizes) * 4 - len(law.parameters)
        assert law.run_sd == pytest.approx(0.004, rel=0.6)
        assert law.point_sd == pytest.approx(0.002, rel=0.3)


@pytest.mark.parametrize(("join", "expected"), [(1.0, "additive"), (0.6, "interplay")])
def test_what_predicts_best_decides_how_size_and_data_join(join, expected):
    rng = np.random.default_rng(5)
    spec = choose_spec([curves(rng, join=join, evaluations=12, noise=0.05)])
    assert spec is not None and spec.join == expected and not spec.shoulder


def test_predictions_of_rows_take_their_own_tokens(law):
    rows = curves(np.random.default_rng(3), (5e5,), (0.3, 0.6), noise=0.0)
    np.testing.assert_allclose(predict_rows(law, rows), rows.value, rtol=1e-4)


def test_evidence_is_the_end_of_each_run_and_thinned():
    rows = curves(np.random.default_rng(0), evaluations=60)
    known = evidence(rows, 0.5)
    assert known.points.step.min() == 500
    assert known.final.sum() == 20 == known.run.max() + 1
    assert np.bincount(known.run).tolist() == [12] * 20
    assert len(evidence(rows, 1.0).points) == 20


def test_only_a_law_with_data_answers_a_question_about_tokens(law):
    mixture = {"en-de": 0.3, "en-fr": 0.7}
    known = LawSet((law,))
    asked = Query(1e5, mixture, tokens=1e7)
    assert known.answering("en-de", "in_domain", asked) is law
    with pytest.raises(UserError, match="knows amounts of data; fit a table with"):
        LawSet(()).answering("en-de", "in_domain", asked)


def test_what_cannot_be_fitted_is_refused():
    rows = curves(np.random.default_rng(0), (3e4, 1e5), (0.3, 1.0))
    with pytest.raises(UserError, match="4 runs for 8 coefficients"):
        fit_data(rows, ADDITIVE)
    unknown = rows.take(np.isfinite(rows.n))
    unknown.tokens[:] = np.nan
    with pytest.raises(UserError, match="column tokens_seen"):
        fit_data(unknown, ADDITIVE)
