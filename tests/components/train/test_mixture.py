"""The weighted mixture: shares, epochs, and position as a function of the step."""

import numpy as np
import pytest

from components.artifacts.token_rows import FIELDS
from components.train import mixture
from components.train.rows import Rows
from tests.components.train.sweep_data import in_memory

LENGTH = 6


def rows_of(count, first, examples):
    """Rows whose first target id is the row's number, so that it can be traced."""
    ids = np.arange(first, first + count)[:, None] + np.zeros((1, LENGTH), np.int64)
    columns = {name: ids if "ids" in name else ids * 0 + 1 for name in FIELDS}
    return {**columns, "examples": np.full(count, examples)}


@pytest.fixture(scope="module")
def rows():
    return in_memory([rows_of(300, 0, 4), rows_of(170, 300, 2)])


def draw(
    rows, weights, seeds, *, start=0, stop=400, drawn=None, batch_rows=5, call=10,
    annealing=None,
):  # fmt: skip
    weights = np.array(weights)
    drawn = np.zeros(weights.shape, np.int64) if drawn is None else drawn
    dataset = mixture.batches(
        rows,
        mixture.row_probabilities(weights, rows.examples),
        np.array(seeds),
        batch_rows=batch_rows,
        steps_per_execution=call,
        start_step=start,
        stop_step=stop,
        drawn=drawn,
        annealing=annealing,
    )
    target = FIELDS.index("target_ids")
    ids, last = [], drawn
    for fields, (after, _) in dataset:
        ids.append(fields[target].numpy()[..., 0])
        last = after.numpy()
    return np.concatenate(ids), last  # [steps, stack, batch_rows], [stack, tasks]


def test_weights_are_shares_of_examples_not_of_rows(rows):
    weights = [[0.3, 0.7], [0.85, 0.15]]
    _, drawn = draw(rows, weights, [0, 1], stop=4000)
    examples = drawn * rows.examples
    share = examples / examples.sum(axis=1, keepdims=True)
    # 20,000 rows: the standard deviation of a share is below .004.
    np.testing.assert_allclose(share, weights, atol=0.015)


def test_row_probabilities_worked_example():
    found = mixture.row_probabilities(np.array([0.5, 0.5]), np.array([4.0, 2.0]))
    np.testing.assert_allclose(found, [1 / 3, 2 / 3])


def test_weights_of_zero_and_one_draw_from_one_task_only(rows):
    ids, drawn = draw(rows, [[0.0, 1.0], [1.0, 0.0]], [3, 4], stop=50)
    assert (ids[:, 0] >= 300).all() and (ids[:, 1] < 300).all()
    np.testing.assert_array_equal(drawn, [[0, 250], [250, 0]])


def test_every_row_once_an_epoch_in_an_order_of_its_own(rows):
    ids, _ = draw(rows, [[1.0, 0.0]], [7], stop=120)
    seen = ids.ravel()
    first, second = seen[:300], seen[300:600]
    assert sorted(first) == sorted(second) == list(range(300))
    assert (first != second).mean() > 0.9
    assert (first != np.arange(300)).mean() > 0.9


def test_starting_late_equals_having_started_early(rows):
    weights = [[0.3, 0.7], [0.6, 0.4]]
    whole, end = draw(rows, weights, [0, 5], stop=200)
    _, middle = draw(rows, weights, [0, 5], stop=130)
    rest, same_end = draw(rows, weights, [0, 5], start=130, stop=200, drawn=middle)
    np.testing.assert_array_equal(whole[130:], rest)
    np.testing.assert_array_equal(end, same_end)


def test_a_trial_sees_the_same_alone_and_in_a_stack(rows):
    together, _ = draw(rows, [[0.3, 0.7], [0.6, 0.4]], [0, 5], stop=50)
    alone, _ = draw(rows, [[0.6, 0.4]], [5], stop=50)
    np.testing.assert_array_equal(together[:, 1], alone[:, 0])


def test_steps_per_execution_does_not_matter(rows):
    one, _ = draw(rows, [[0.45, 0.55]], [2], stop=40, call=1)
    ten, _ = draw(rows, [[0.45, 0.55]], [2], stop=40, call=20)
    np.testing.assert_array_equal(one, ten)


def test_seeds_differ(rows):
    ids, _ = draw(rows, [[0.5, 0.5], [0.5, 0.5]], [0, 1], stop=50)
    assert (ids[:, 0] != ids[:, 1]).mean() > 0.9


def test_three_tasks():
    rows = in_memory([rows_of(90, 0, 3), rows_of(80, 90, 1), rows_of(70, 170, 2)])
    weights = [[0.2, 0.5, 0.3]]
    _, drawn = draw(rows, weights, [9], stop=4000)
    examples = drawn * rows.examples
    np.testing.assert_allclose(examples / examples.sum(), weights, atol=0.015)


def test_annealing_draws_from_ever_fewer_of_the_first_rows(rows):
    annealing = mixture.Annealing(keep=0.2, steps=200)
    ids, _ = draw(rows, [[0.6, 0.4]], [3], stop=400, annealing=annealing)
    share = 0.2 ** np.minimum(1, np.arange(400) // 2 * 2 / 200)  # 100 stands
    first, second = np.ceil(300 * share), np.ceil(170 * share)
    found = ids[:, 0]  # [steps, batch_rows]
    own = found < 300
    assert (found < np.where(own, first[:, None], 300 + second[:, None])).all()
    assert found[:40][own[:40]].max() > 200  # nearly all at first
    late = found[200:]
    assert set(late[late < 300]) == set(range(60))  # and all of the best in the end
    assert set(late[late >= 300]) == set(range(300, 334))


def test_annealing_is_a_function_of_the_step(rows):
    annealing = mixture.Annealing(keep=0.3, steps=150)
    weights = [[0.3, 0.7], [0.6, 0.4]]
    whole, _ = draw(rows, weights, [0, 5], stop=200, annealing=annealing)
    _, middle = draw(rows, weights, [0, 5], stop=130, annealing=annealing)
    rest, _ = draw(
        rows, weights, [0, 5], start=130, stop=200, drawn=middle, annealing=annealing,
    )  # fmt: skip
    np.testing.assert_array_equal(whole[130:], rest)
    one, _ = draw(rows, weights, [0, 5], stop=40, call=1, annealing=annealing)
    np.testing.assert_array_equal(whole[:40], one)


def test_keeping_everything_changes_nothing(rows):
    plain, _ = draw(rows, [[0.45, 0.55]], [2], stop=300)
    kept, _ = draw(
        rows, [[0.45, 0.55]], [2], stop=300, annealing=mixture.Annealing(1.0, 50)
    )
    np.testing.assert_array_equal(plain, kept)


def test_within_a_stand_every_row_is_seen_as_often(rows):
    annealing = mixture.Annealing(keep=0.25, steps=1)
    ids, _ = draw(rows, [[1.0, 0.0]], [7], start=1, stop=61, annealing=annealing)
    seen = ids.ravel()  # 300 draws from the best 75 rows
    assert np.bincount(seen).tolist() == [4] * 75


def test_a_task_without_rows_stays_without(rows):
    some = in_memory([rows_of(30, 0, 2)])
    means = np.array([2.0, 0.0])
    left = Rows(some.rows, np.array([30, 0]), means, means)
    annealing = mixture.Annealing(keep=0.01, steps=10)
    ids, _ = draw(left, [[1.0, 0.0]], [7], stop=50, annealing=annealing)
    assert set(ids[20:].ravel()) == {0}  # one row at least
