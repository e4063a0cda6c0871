"""Laws recovered from tables that were simulated with known coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UserError
from models.laws import (
    Observations,
    Options,
    Query,
    find,
    find_all,
    fit_approximate,
    fit_individual,
    fit_joint,
    fit_univariate,
    observations,
)

SIZES = np.array([19, 64, 127, 191, 340, 453, 708]) * 1e6
WEIGHTS = np.array([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0])
TRUTH = {"alpha": 0.31, "beta": 0.47, "irreducible_loss": 1.23}


def fraction(p: np.ndarray) -> np.ndarray:
    return p + 0.3 * p**0.8 * (1 - p) ** 1.2


def loss(n: np.ndarray, p: np.ndarray, f=fraction) -> np.ndarray:
    reducible = TRUTH["beta"] * (f(p) * n / 1e8) ** -TRUTH["alpha"]
    return reducible + TRUTH["irreducible_loss"]


def runs(
    noise: float = 0.003, seed: int = 0, f=fraction, sizes=SIZES, weights=WEIGHTS
) -> Observations:
    """One task of two, every weight at every size."""
    rng = np.random.default_rng(seed)
    n, p = (part.ravel() for part in np.meshgrid(sizes, weights))
    values = loss(n, p, f) + noise * rng.standard_normal(len(n))
    mixture = [{"en-de": q, "en-zh": 1 - q} for q in p]
    return observations(
        task=["en-de"] * len(n), n=n, p=p, value=values, mixture=mixture
    )


def test_without_noise_every_law_gives_the_truth_back() -> None:
    table, options = runs(noise=0.0), Options(reference=1e8)
    joint = fit_joint(table, options)
    assert joint.parameters["alpha"] == pytest.approx(TRUTH["alpha"], rel=1e-7)
    assert joint.parameters["beta[1]"] == pytest.approx(TRUTH["beta"], rel=1e-7)
    assert joint.parameters["irreducible_loss"] == pytest.approx(1.23, rel=1e-7)
    assert joint.statistics["r2"] == pytest.approx(1)
    singles, refused = fit_individual(table, options)
    assert not refused and len(singles) == len(WEIGHTS)
    for law in singles:
        assert law.parameters["alpha"] == pytest.approx(TRUTH["alpha"], rel=1e-5)
    approximate = fit_approximate(table, "flexible", options)
    c = [approximate.parameters[name] for name in ("c1", "c2", "c3")]
    np.testing.assert_allclose(c, [0.3, 0.8, 1.2], rtol=1e-5)


def test_joint_law_has_ten_coefficients_for_eight_weightings() -> None:
    assert len(fit_joint(runs()).parameters) == 10


def test_estimates_lie_within_their_intervals_of_the_truth() -> None:
    law = fit_joint(runs(seed=4), Options(reference=1e8))
    for name, true in (("alpha", 0.31), ("irreducible_loss", 1.23), ("beta[1]", 0.47)):
        one = law.coefficients(level=0.999)[name]
        assert one.low < true < one.high
        assert one.high - one.low < 0.1


@pytest.mark.parametrize("unit", [1.0, 1e-6, 3.7e5])
def test_the_unit_of_n_changes_nothing(unit: float) -> None:
    table = runs(seed=2)
    scaled = runs(seed=2, sizes=SIZES)
    scaled = observations(
        task=scaled.task.tolist(), n=scaled.n * unit, p=scaled.p, value=scaled.value
    )
    for fit in (fit_joint, lambda t: fit_approximate(t, "flexible")):
        one, other = fit(table), fit(scaled)
        assert one.parameters["alpha"] == pytest.approx(
            other.parameters["alpha"], rel=1e-6
        )
        assert one.predict(Query(1e9, 0.3)) == pytest.approx(
            other.predict(Query(1e9 * unit, 0.3)), rel=1e-8
        )


def test_effective_fraction_of_both_laws_is_the_true_one() -> None:
    table = runs(noise=0.0005, seed=1)
    joint, approximate = fit_joint(table), fit_approximate(table, "flexible")
    for law in (joint, approximate):
        f, low, high = law.effective_fraction(WEIGHTS)
        np.testing.assert_allclose(f, fraction(WEIGHTS), rtol=0.02)
        assert (low <= f).all() and (f <= high).all()
        assert f[-1] == pytest.approx(1.0, abs=1e-9)
    unseen, _, _ = approximate.effective_fraction(0.2)
    assert unseen == pytest.approx(fraction(np.array(0.2)), rel=0.01)


def test_effective_fraction_needs_the_single_task_run() -> None:
    law = fit_joint(runs(weights=WEIGHTS[:-1]))
    with pytest.raises(UserError, match="p = 1, which was not trained"):
        law.effective_fraction(0.5)


def test_auto_takes_the_linear_function_where_it_is_true() -> None:
    def linear(p: np.ndarray) -> np.ndarray:
        return 0.8 * (p - 1) + 1

    assert fit_approximate(runs(f=linear, seed=5)).form == "linear"
    assert fit_approximate(runs(seed=5)).form == "flexible"


def test_a_mixture_predicts_as_its_own_weight_does() -> None:
    law = fit_approximate(runs(), "flexible")
    whole = law.predict(Query(2e9, {"en-de": 0.3, "en-zh": 0.7}))
    assert whole == pytest.approx(law.predict(Query(2e9, 0.3)))
    grid = law.predict(Query([1e8, 2e8, 4e8], np.array([[0.2], [0.6]])))
    assert grid.shape == (2, 3)
    assert grid[1, 2] == pytest.approx(law.predict(Query(4e8, 0.6)))


def test_a_new_measurement_is_less_certain_than_the_law() -> None:
    law = fit_joint(runs())
    inner = law.interval(Query(1e9, 0.3), measured=False)
    outer = law.interval(Query(1e9, 0.3))
    assert outer[0] < inner[0] < law.predict(Query(1e9, 0.3)) < inner[1] < outer[1]
    assert 0.002 < law.residual_sd < 0.004


def test_a_joint_law_refuses_a_mixture_it_does_not_know() -> None:
    with pytest.raises(UserError, match="p = 0.2 is not one of its weightings"):
        fit_joint(runs()).predict(Query(1e9, 0.2))


@pytest.mark.parametrize(
    ("n", "p", "message"),
    [
        (0.0, 0.5, "n: 0; expected a positive number"),
        (np.nan, 0.5, "n: nan; expected"),
        (1e8, 1.5, "p: 1.5; expected a weight"),
        (1e8, {"en-de": 0.5, "en-fr": 0.5}, "unknown task en-fr"),
    ],
)
def test_impossible_points_are_refused(n: float, p: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        fit_approximate(runs(), "linear").predict(Query(n, p))


def test_one_outlier_moves_the_robust_fit_little() -> None:
    clean = runs(seed=3)
    value = clean.value.copy()
    value[10] += 0.3
    dirty = observations(task=clean.task.tolist(), n=clean.n, p=clean.p, value=value)
    moved = fit_joint(dirty).parameters["alpha"] - fit_joint(clean).parameters["alpha"]
    assert abs(moved) < 0.01


def test_a_fixed_coefficient_stays_and_frees_a_size() -> None:
    few = runs(noise=0.0, sizes=SIZES[:2], weights=WEIGHTS[2:3])
    with pytest.raises(UserError, match="has 2 model sizes, needs 3"):
        fit_univariate(few)
    law = fit_univariate(few, Options(fixed={"alpha": 0.31}))
    assert law.parameters["alpha"] == 0.31 and law.fixed == ("alpha",)
    assert law.parameters["irreducible_loss"] == pytest.approx(1.23, rel=1e-5)


def test_too_few_sizes_are_refused_in_words() -> None:
    with pytest.raises(UserError, match="fit joint en-de/in_domain: 2 model sizes"):
        fit_joint(runs(sizes=SIZES[:2]))
    with pytest.raises(UserError, match="1 weights for the 3 coefficients"):
        fit_approximate(runs(weights=np.array([0.5, 1.0])), "flexible")


def test_warnings_name_what_is_wrong_and_what_to_do() -> None:
    n = np.tile(SIZES[:3], 2)
    p = np.repeat([0.3, 1.0], 3)
    flat = 2 + 0.003 * np.random.default_rng(0).standard_normal(6)
    table = observations(task=["en-de"] * 6, n=n, p=p, value=flat)
    said = " | ".join(fit_joint(table).warnings)
    assert "3 model sizes" in said
    assert "flat over these sizes" in said
    lonely = runs().take(np.arange(50))  # the last weighting keeps one size
    assert any("p = 1 has 1 model size" in text for text in fit_joint(lonely).warnings)


def test_draws_spread_as_the_standard_errors_say() -> None:
    table = runs(seed=6)
    calibrated = fit_joint(table, Options(draws=400, seed=1))
    again = fit_joint(table, Options(draws=400, seed=1))
    np.testing.assert_array_equal(calibrated.draws, again.draws)
    spread = calibrated.draws.std(0) / list(calibrated.standard_errors.values())
    assert (0.85 < spread).all() and (spread < 1.25).all()
    papers = fit_joint(table, Options(draws=400, seed=1, uncertainty="perturbation"))
    assert papers.draws.std(0)[0] > 3 * calibrated.draws.std(0)[0]  # 1 % of the loss


def test_a_rising_metric_is_fitted_by_its_distance_to_the_ceiling() -> None:
    n, p = (part.ravel() for part in np.meshgrid(SIZES, WEIGHTS))
    chrf = 100 - 38 - 9 * (fraction(p) * n / 1e8) ** -0.4
    table = observations(task=["en-de"] * len(n), n=n, p=p, value=chrf, metric="chrf")
    law = fit_approximate(table, "flexible")
    assert law.parameters["irreducible_loss"] == pytest.approx(38, rel=1e-4)
    assert law.predict(Query(1e10, 1.0)) > law.predict(Query(1e9, 1.0))
    low, high = law.interval(Query(1e9, 0.5))
    assert low <= law.predict(Query(1e9, 0.5)) <= high


def test_the_text_holds_what_a_scientist_asks_for() -> None:
    text = fit_joint(runs()).describe()
    for part in ("[M] eq. 7", "+/-", "R2 0.999", "RMSE", "degrees of freedom"):
        assert part in text


def test_laws_are_found_by_kind_and_task() -> None:
    law = fit_joint(runs())
    assert find([law], "joint", "en-de") is law
    assert find([law], "joint", "en-de", "newstest2019") is None
    assert find_all([law], kind="individual") == []


def test_scatter_beyond_that_of_seeds_is_lack_of_fit() -> None:
    base = [runs(noise=0.001, seed=k) for k in range(3)]
    value = np.concatenate([part.value for part in base])
    n = np.concatenate([part.n for part in base])
    p = np.concatenate([part.p for part in base])
    seed = np.repeat([0, 1, 2], len(base[0]))

    def warned(values: np.ndarray) -> bool:
        table = observations(task=["en-de"] * len(n), n=n, p=p, value=values, seed=seed)
        return any("lack of fit" in text for text in fit_joint(table).warnings)

    assert not warned(value)
    assert warned(value + 0.02 * np.sin(5 * np.log(n)))


def test_noise_that_differs_by_mixture_is_weighed_and_predicted() -> None:
    rng = np.random.default_rng(3)
    n, p, seed = (
        part.ravel() for part in np.meshgrid(SIZES, [0.1, 0.5, 1.0], np.arange(6))
    )
    sd = np.where(p == 0.1, 0.02, 0.002)
    value = loss(n, p) + sd * rng.standard_normal(len(n))
    table = observations(task=["en-de"] * len(n), n=n, p=p, value=value, seed=seed)
    law = fit_joint(table)
    assert law.noise["0.1"] > 3 * law.noise["1"]

    def width(weight: float) -> float:
        low, high = law.interval(Query(1e9, weight))
        return float(high - low)

    assert width(0.1) > 3 * width(1.0)
    alike = observations(task=["en-de"] * len(n), n=n, p=p, value=value)
    once = alike.take(seed == 0)
    assert fit_joint(once).noise == {}
    errors = law.standard_errors["alpha"], fit_joint(once).standard_errors["alpha"]
    assert errors[0] < 0.3 * errors[1]


@pytest.mark.parametrize(("metric", "ceiling"), [("loss", np.inf), ("chrf", 100.0)])
def test_an_interval_stays_where_values_can_be(metric: str, ceiling: float) -> None:
    rng = np.random.default_rng(5)
    n = np.geomspace(2e7, 3e8, 4)
    value = 0.4 * (n / 1e8) ** -0.3 + 0.2 * rng.random(4)
    law = fit_univariate(
        observations(
            task=["en-de"] * 4,
            n=n,
            p=np.ones(4),
            value=value if metric == "loss" else 100 - value,
            metric=metric,
        )
    )
    low, high = law.interval(Query([1e8, 1e10], 1.0))
    assert low.min() >= 0 and high.max() <= ceiling
    assert (low.min() == 0) if metric == "loss" else (high.max() == ceiling)
    for name in law.parameters:
        assert law.coefficients()[name].low >= 0
