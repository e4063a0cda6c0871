"""Training rows on disk: the same rows as in memory, a file at a time."""

import json

import numpy as np
import pytest

from components.train import mixture, rows
from components.train.rows import Rows
from models.errors import UserError
from tests.components.train.sweep_data import TASKS
from tests.components.train.token_files import write_shard, write_tokens


@pytest.fixture
def tokens(tmp_path):
    written = write_tokens(tmp_path / "tokens", shards=3)
    return tmp_path / "tokens", Rows.join(written)


def drawn(source, **changes):
    options = {"batch_rows": 5, "steps_per_call": 4, "start_step": 0, "stop_step": 40}
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


def test_mapped_rows_are_those_in_memory(tokens, tmp_path):
    folder, in_memory = tokens
    rows.build(folder, TASKS, tmp_path / "tables")
    mapped = rows.load(tmp_path / "tables")
    assert mapped.lengths == in_memory.lengths
    np.testing.assert_array_equal(mapped.count, [60, 40])
    np.testing.assert_array_equal(mapped.examples, in_memory.examples)
    np.testing.assert_array_equal(mapped.target_tokens, in_memory.target_tokens)
    for a, b in zip(drawn(mapped), drawn(in_memory), strict=True):
        for x, y in zip(a[0] + a[1], b[0] + b[1], strict=True):
            np.testing.assert_array_equal(x, y)


def test_tables_are_mapped_and_narrow(tokens, tmp_path):
    folder, _ = tokens
    rows.build(folder, TASKS, tmp_path / "tables")
    table = rows.load(tmp_path / "tables").tables[0]
    assert table.dtype == np.uint16
    assert not table.flags.owndata
    assert not table.flags.writeable
    index = json.loads((folder / "index.json").read_text())
    assert rows.bytes_needed(index, TASKS) == 100 * table.shape[1] * 2


def test_they_are_built_once(tokens, tmp_path):
    folder, _ = tokens
    rows.build(folder, TASKS, tmp_path / "tables")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "tables").iterdir()}
    rows.build(folder, TASKS, tmp_path / "tables")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "tables").iterdir()}
    assert before == after


def test_one_file_is_in_memory_at_a_time(tokens, tmp_path, monkeypatch):
    """The next file is read only after the rows of the one before are written."""
    folder, _ = tokens
    sizes = []
    real = rows.load_parts

    def parts(*arguments):
        for part in real(*arguments):
            (unfinished,) = (tmp_path / "tables").glob(".*.tmp")
            sizes.append(unfinished.stat().st_size)
            yield part

    monkeypatch.setattr(rows, "load_parts", parts)
    rows.build(folder, TASKS[:1], tmp_path / "tables")
    assert len(sizes) == 3 and sizes[0] < sizes[1] < sizes[2]


def test_a_cut_shard_is_said_and_leaves_nothing_to_be_taken_for_whole(tokens, tmp_path):
    folder, _ = tokens
    path = folder / TASKS[1] / "train-1.tfrecord"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="train-1.tfrecord: ends in the middle"):
        rows.build(folder, TASKS, tmp_path / "tables")
    assert not rows.is_built(tmp_path / "tables")


def test_missing_rows_are_said(tokens, tmp_path):
    folder, _ = tokens
    path = folder / TASKS[0] / "train-2.tfrecord"
    write_shard(path, {})
    with pytest.raises(UserError, match="40 rows of en-de train in the files, 60 in"):
        rows.build(folder, TASKS, tmp_path / "tables")


def test_a_task_without_data_may_have_weight_zero(tmp_path):
    write_tokens(tmp_path / "tokens", train_rows=(30, 0))
    rows.build(tmp_path / "tokens", TASKS, tmp_path / "tables")
    found = rows.load(tmp_path / "tables")
    np.testing.assert_array_equal(found.count, [30, 0])
    probabilities = mixture.row_probabilities(np.array([[1.0, 0.0]]), found.examples)
    np.testing.assert_array_equal(probabilities, [[1.0, 0.0]])
    batches = mixture.batches(
        found,
        probabilities,
        np.array([0]),
        batch_rows=4,
        steps_per_call=5,
        start_step=0,
        stop_step=50,
        drawn=np.zeros((1, 2), np.int64),
    )
    *_, (_, (last, _)) = batches
    np.testing.assert_array_equal(last, [[200, 0]])


def test_pairs_and_tokens_are_counted_exactly(tokens):
    _, source = tokens
    for fields, (_, seen) in drawn(source):
        segments = fields[3].numpy()  # [steps, stack, rows, length]
        assert (seen.numpy()[..., 1].sum(axis=1) == (segments > 0).sum((0, 2, 3))).all()
        assert (seen.numpy()[..., 0].sum(axis=1) == 4 * 5 * 2).all()
