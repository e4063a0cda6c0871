"""Training rows on disk are the same rows as in memory."""

import numpy as np
import pytest

from components.artifacts.token_rows import FIELDS, load_rows
from components.train import mixture
from components.train.rows import Rows
from tests.components.train.sweep_data import TASKS, in_memory
from tests.components.train.token_files import write_tokens


@pytest.fixture
def tokens(tmp_path):
    written = write_tokens(tmp_path / "tokens", shards=3)
    return tmp_path / "tokens", in_memory(written)


def drawn(source, **changes):
    options = {
        "batch_rows": 5,
        "steps_per_execution": 4,
        "start_step": 0,
        "stop_step": 40,
    }
    probabilities = np.array([[0.3, 0.7], [0.8, 0.2]])
    return list(
        mixture.batches(
            source,
            probabilities,
            np.array([0, 3]),
            drawn=np.zeros((2, 2), np.int64),
            **{**options, **changes},
        )
    )


def test_mapped_rows_are_those_in_memory(tokens):
    folder, in_memory = tokens
    mapped = Rows.load(folder, TASKS)
    assert mapped.lengths == in_memory.lengths
    np.testing.assert_array_equal(mapped.count, [60, 40])
    np.testing.assert_array_equal(mapped.examples, in_memory.examples)
    np.testing.assert_array_equal(mapped.target_tokens, in_memory.target_tokens)
    for a, b in zip(drawn(mapped), drawn(in_memory), strict=True):
        for x, y in zip(a[0] + a[1], b[0] + b[1], strict=True):
            np.testing.assert_array_equal(x, y)


def test_any_row_is_found_by_task_and_number(tokens):
    folder, _ = tokens
    task = np.array([[0, 1, 0], [1, 0, 0]])
    row = np.array([[59, 39, 0], [0, 20, 21]])
    *fields, examples, target_tokens = Rows.load(folder, TASKS).read(task, row)
    for place in np.ndindex(task.shape):
        whole = load_rows(folder, TASKS[task[place]], "train")
        expected = np.concatenate(whole.shards)[row[place]]
        for name, field in zip(FIELDS, fields, strict=True):
            np.testing.assert_array_equal(field[place], expected[name])
        assert examples[place] == expected["examples"] == 2
        assert target_tokens[place] == np.count_nonzero(expected["target_segments"])


def test_parts_become_tasks_of_their_own(tokens):
    folder, _ = tokens
    one, both = Rows.load(folder, TASKS[1:]), Rows.load(folder, TASKS)
    joined = Rows.join([one, both])
    np.testing.assert_array_equal(joined.count, [40, 60, 40])
    task, row = np.array([0, 1]), np.array([3, 5])
    first = one.read(task[:1], row[:1]), both.read(np.array([0]), row[1:])
    for found, *own in zip(joined.read(task, row), *first, strict=True):
        np.testing.assert_array_equal(found, np.concatenate(own))


def test_a_task_without_data_may_have_weight_zero(tmp_path):
    write_tokens(tmp_path / "tokens", train_rows=(30, 0))
    found = Rows.load(tmp_path / "tokens", TASKS)
    np.testing.assert_array_equal(found.count, [30, 0])
    probabilities = mixture.row_probabilities(np.array([[1.0, 0.0]]), found.examples)
    np.testing.assert_array_equal(probabilities, [[1.0, 0.0]])
    batches = mixture.batches(
        found,
        probabilities,
        np.array([0]),
        batch_rows=4,
        steps_per_execution=5,
        start_step=0,
        stop_step=50,
        drawn=np.zeros((1, 2), np.int64),
    )
    *_, (_, (last, _)) = batches
    np.testing.assert_array_equal(last, [[200, 0]])


def test_pairs_and_tokens_are_counted_exactly(tokens):
    source = Rows.load(tokens[0], TASKS)
    for fields, (_, seen) in drawn(source):
        segments = fields[3].numpy()  # [steps, stack, rows, length]
        assert (seen.numpy()[..., 1].sum(axis=1) == (segments > 0).sum((0, 2, 3))).all()
        assert (seen.numpy()[..., 0].sum(axis=1) == 4 * 5 * 2).all()
