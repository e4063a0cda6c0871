"""Transfer between tasks, shapes, curves, sharing and designs from known truths."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UserError
from models.laws import (
    Observations,
    Options,
    Query,
    fit_approximate,
    fit_joint,
    observations,
)
from models.laws.backtest import PERSISTENCE, backtest, fit_kind, predictor
from models.laws.bivariate import fit_bivariate
from models.laws.capacity import capacity
from models.laws.curve import fit_learning_curve, fit_quality
from models.laws.frontier import simplex

SIZES = np.array([1.9, 6.4, 12.7, 19.1, 34.0]) * 1e7
TASKS = ("en-de", "en-fr", "en-zh")


def three_tasks(repetition: float = 0.0, noise: float = 0.0) -> Observations:
    """en-de with help from en-fr (.4) and a little from en-zh (.05)."""
    weights = simplex(3, 20)
    rows = [(n, w) for n in SIZES for w in weights]
    rng = np.random.default_rng(0)
    shares = np.array([w for _, w in rows])
    f = shares @ [1.0, 0.4, 0.05] * np.exp(-repetition * shares[:, 0])
    n = np.array([n for n, _ in rows])
    value = 1.1 + 0.6 * (f * n / 1e8) ** -0.28 + noise * rng.standard_normal(len(n))
    return observations(
        task=["en-de"] * len(n),
        n=n,
        p=shares[:, 0],
        value=value,
        mixture=[dict(zip(TASKS, w, strict=True)) for w in shares.tolist()],
    )


@pytest.mark.parametrize(
    ("repetition", "form"), [(0, "transfer"), (0.9, "+repetition")]
)
def test_transfer_between_tasks_is_found_and_chosen(repetition, form) -> None:
    law = fit_approximate(three_tasks(repetition, 0.002), "auto", Options(1e8))
    assert law.form.endswith(form)
    assert law.parameters["g[en-fr]"] == pytest.approx(0.4, abs=0.05)
    assert law.parameters["g[en-zh]"] == pytest.approx(0.05, abs=0.03)
    if repetition:
        assert law.parameters["r"] == pytest.approx(repetition, abs=0.1)
    mixture = {"en-de": 0.15, "en-fr": 0.35, "en-zh": 0.5}
    f = (0.15 + 0.4 * 0.35 + 0.05 * 0.5) * np.exp(-repetition * 0.15)
    assert law.predict(Query(1e9, mixture)) == pytest.approx(
        1.1 + 0.6 * (f * 10) ** -0.28, abs=0.01
    )


def test_a_task_that_is_only_evaluated_has_a_law() -> None:
    runs = three_tasks()
    runs = observations(
        task=["xx"] * len(runs),
        n=runs.n,
        p=np.zeros(len(runs)),
        value=runs.value,
        mixture=[dict(zip(TASKS, w, strict=True)) for w in runs.shares.tolist()],
    )
    law = fit_approximate(runs, "auto", Options(1e8))
    assert law.parameters["g[en-fr]"] == pytest.approx(0.4, rel=1e-3)
    mixture = {"en-de": 0.2, "en-fr": 0.3, "en-zh": 0.5}
    expected = 1.1 + 0.6 * ((0.2 + 0.12 + 0.025) * 10) ** -0.28
    assert law.predict(Query(1e9, mixture)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("label", ["flexible", "linear", "transfer+repetition"])
def test_slopes_of_capacity_functions_are_derivatives(label: str) -> None:
    function = capacity(label, TASKS, 1)
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([2, 2, 2], 6)
    c = rng.uniform(0.2, 0.9, (2, len(function.names)))
    _, slopes = function.evaluate(c, shares[:, 1], shares)
    for k in range(c.shape[1]):
        step = np.eye(c.shape[1])[k] * 1e-6
        up, _ = function.evaluate(c + step, shares[:, 1], shares)
        down, _ = function.evaluate(c - step, shares[:, 1], shares)
        np.testing.assert_allclose(slopes[:, :, k], (up - down) / 2e-6, atol=1e-8)


def test_one_size_can_describe_weights_when_asked_to() -> None:
    runs = three_tasks().take(np.arange(21))
    with pytest.raises(UserError, match="1 model size, needs 3"):
        fit_approximate(runs, "transfer")
    law = fit_approximate(runs, "transfer", Options(1e8, single_size=True))
    f = 0.3 + 0.4 * 0.3 + 0.05 * 0.4
    predicted = law.predict(Query(1.9e7, {"en-de": 0.3, "en-fr": 0.3, "en-zh": 0.4}))
    assert predicted == pytest.approx(1.1 + 0.6 * (f * 0.19) ** -0.28, abs=1e-3)


def shapes(noise: float = 0.0) -> Observations:
    layers = np.array([2, 6, 12, 24, 48.0])
    enc, dec = (part.ravel() for part in np.meshgrid(layers * 21e6, layers[:4] * 25e6))
    rng = np.random.default_rng(1)
    value = 0.5 * (enc / 1e8) ** -0.12 * (dec / 1e8) ** -0.25 + 1.1
    return observations(
        task=["en-de"] * len(enc),
        n=enc + dec,
        p=np.ones(len(enc)),
        value=value + noise * rng.standard_normal(len(enc)),
        n_enc=enc,
        n_dec=dec,
    )


def test_the_bivariate_law_is_recovered_with_its_optimal_split() -> None:
    law = fit_bivariate(shapes())
    assert law.parameters["alpha_enc"] == pytest.approx(0.12, rel=1e-5)
    assert law.parameters["alpha_dec"] == pytest.approx(0.25, rel=1e-5)
    enc, dec = law.optimal_split(7.4e8)
    assert (enc, dec) == pytest.approx((2.4e8, 5e8), rel=1e-4)  # [N] Prop. 1
    shares = np.linspace(0.02, 0.98, 97)
    penalties = [law.split_penalty(share) for share in shares]
    assert shares[int(np.argmin(penalties))] == pytest.approx(enc / 7.4e8, abs=0.01)
    assert law.split_penalty(enc / 7.4e8) == pytest.approx(1.0)
    low, high = fit_bivariate(shapes(0.003)).interval(
        Query(n_enc=3e8, n_dec=[2e8, 1e9])
    )
    true = 0.5 * 3**-0.12 * np.array([2.0, 10.0]) ** -0.25 + 1.1
    assert (low < true).all() and (true < high).all()
    best = law.predict(Query(n_enc=enc, n_dec=dec))
    assert law.predict(Query(7.4e8, 1.0)) == pytest.approx(best, rel=1e-12)


def test_shapes_that_grow_together_are_refused() -> None:
    runs = shapes()
    same = observations(
        task=["a"] * 5,
        n=runs.n[:5],
        p=np.ones(5),
        value=runs.value[:5],
        n_enc=runs.n_enc[:5],
        n_dec=2 * runs.n_enc[:5],
    )
    with pytest.raises(UserError, match="grow together"):
        fit_bivariate(same)
    with pytest.raises(UserError, match="n_enc and n_dec"):
        fit_bivariate(three_tasks())


def test_a_learning_curve_is_extrapolated_with_an_interval() -> None:
    steps = np.arange(2, 60) * 1e4
    noise = 0.002 * np.random.default_rng(0).standard_normal(len(steps))
    curve = fit_learning_curve(steps, 2.1 + 30 * steps**-0.4 + noise)
    true = 2.1 + 30 * 2.5e6**-0.4
    low, high = curve.interval(2.5e6, level=0.999)
    assert low < true < high and high - low < 0.03
    assert curve.predict(2.5e6) == pytest.approx(true, abs=0.01)
    with pytest.raises(UserError, match="3 distinct points, needs 4"):
        fit_learning_curve([1, 2, 3, 3], [4, 3, 2, 2])


def test_quality_laws_are_recovered() -> None:
    loss = np.linspace(1.2, 2.1, 9)
    power = fit_quality(loss, 41 * loss**-1.4, "power")
    assert power.parameters["c"] == pytest.approx(41)
    assert power.parameters["p"] == pytest.approx(1.4)
    line = fit_quality(loss, 80 - 21 * loss)
    assert line.predict(1.5) == pytest.approx(80 - 31.5)
    assert line.r2 == pytest.approx(1)
    with pytest.raises(UserError, match="expected power or linear"):
        fit_quality(loss, loss, "cubic")


def weighted_runs(alike: bool, sizes: np.ndarray = SIZES) -> Observations:
    """Weightings with one irreducible loss, or each with its own."""
    p = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
    n, weight = (part.ravel() for part in np.meshgrid(sizes, p))
    floor = 1.2 if alike else 1.2 + 0.5 * np.sin(9 * weight)
    rng = np.random.default_rng(8)
    value = floor + 0.5 * (n / 1e8) ** -0.3 * weight**-0.2
    return observations(
        task=["en-de"] * len(n),
        n=n,
        p=weight,
        value=value + 0.001 * rng.standard_normal(len(n)),
    )


def test_the_degree_of_sharing_is_the_true_one() -> None:
    shared = backtest([weighted_runs(alike=True)])
    assert not shared.rejects_equation_7
    apart = backtest([weighted_runs(alike=False)])
    assert apart.chosen == "shared" and apart.rejects_equation_7
    assert apart.candidates[-1].law == PERSISTENCE
    assert not apart.beaten_by_persistence
    assert "<- chosen" in str(apart)
    few = backtest([weighted_runs(alike=False, sizes=SIZES[:3])])
    assert few.chosen == "shared"
    assert backtest([weighted_runs(alike=True, sizes=SIZES[:2])]) is None


def test_shared_laws_predict_every_weighting_they_know() -> None:
    runs = weighted_runs(alike=False)
    for kind in ("individual", "shared"):
        predicted = predictor(fit_kind(runs, kind))(runs)[0]
        np.testing.assert_allclose(predicted, runs.value, atol=0.01)
    assert fit_kind(runs, "shared")[0].form == "alpha"


def test_runs_set_apart_by_a_condition_get_their_own_curve() -> None:
    both = [weighted_runs(alike=True), weighted_runs(alike=True)]
    rows = [(k, i) for k in range(2) for i in range(len(both[k]))]
    runs = observations(
        task=["en-de"] * len(rows),
        n=[both[k].n[i] for k, i in rows],
        p=[both[k].p[i] for k, i in rows],
        value=[both[k].value[i] * (1 + 0.5 * k) for k, i in rows],
        group=[f"data={k}" for k, _ in rows],
    )
    law = fit_joint(runs)
    assert len(law.weightings) == 12
    pair = [w for w in law.weightings if w.p == 0.3]
    ratio = law.predict(Query(1e8, pair[1])) / law.predict(Query(1e8, pair[0]))
    assert ratio == pytest.approx(1.5, rel=0.05)
    with pytest.raises(UserError, match="matches several of its weightings"):
        law.predict(Query(1e8, 0.3))
