"""Shards of token rows: what is written is what is mapped, or it is refused."""

import numpy as np
import pytest

from components.artifacts.token_rows import (
    FIELDS,
    TokenRows,
    load_rows,
    pack,
    row_type,
    shard_bytes,
)
from models.errors import UserError
from tests.components.train.sweep_data import LENGTH, TASKS, VOCABULARY
from tests.components.train.token_files import write_shard, write_tokens


@pytest.fixture
def tokens(tmp_path):
    return tmp_path / "tokens", write_tokens(tmp_path / "tokens", shards=3)


def test_rows_come_back_mapped_and_narrow(tokens):
    folder, written = tokens
    for task, columns in zip(TASKS, written, strict=True):
        rows = load_rows(folder, task, "train")
        assert len(rows) == len(columns["examples"])
        found = np.concatenate(rows.shards)
        for name in (*FIELDS, "examples"):
            np.testing.assert_array_equal(found[name], columns[name])
            assert found[name].dtype == np.uint8
        for shard in rows.shards:
            assert not shard.flags.owndata and not shard.flags.writeable


def test_rows_of_several_shards_are_taken_in_any_order(tokens):
    rows = load_rows(tokens[0], TASKS[0], "train")
    numbers = np.random.default_rng(0).integers(0, 60, 200)
    whole = np.concatenate(rows.shards)
    assert rows.take(numbers).tobytes() == whole[numbers].tobytes()


def test_a_shard_without_rows_is_passed_over():
    kind = row_type(9, 4, 4)
    some = np.arange(6 * kind.itemsize, dtype=np.uint8).view(kind)
    rows = TokenRows((some[:0], some[:2], some[:0], some[2:]))
    assert rows.take(np.arange(6)).tobytes() == some.tobytes()


@pytest.mark.parametrize(
    ("vocabulary_size", "lengths", "kinds"),
    [
        (256, (64, 255), ("u1", "u1", "u1", "u1")),
        (257, (64, 256), ("u2", "u1", "u2", "u2")),
        (65537, (300, 64), ("u4", "u2", "u4", "u1")),
    ],
)
def test_every_column_has_the_narrowest_type(vocabulary_size, lengths, kinds):
    kind = row_type(vocabulary_size, *lengths)
    assert tuple(kind[name].base.str[1:] for name in FIELDS) == kinds


@pytest.mark.parametrize("kept", [-9, 100, 5, 0])
def test_a_cut_shard_is_said(tokens, kept):
    path = tokens[0] / TASKS[1] / "train-1.npy"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"train-1.npy: damaged .* --force tokenize"):
        load_rows(tokens[0], TASKS[1], "train")


def test_a_missing_shard_missing_rows_and_other_rows_are_said(tokens):
    folder, written = tokens
    path = folder / TASKS[0] / "train-2.npy"
    write_shard(path, {name: column[:0] for name, column in written[0].items()})
    with pytest.raises(UserError, match="40 rows of en-de train in the files, 60 in"):
        load_rows(folder, TASKS[0], "train")
    longer = {name: np.ones((20, LENGTH + 1), int) for name in FIELDS}
    rows = pack(longer | {"examples": np.ones(20, int)}, VOCABULARY)
    path.write_bytes(shard_bytes(rows))
    with pytest.raises(UserError, match=r"train-2.npy: not rows of the lengths"):
        load_rows(folder, TASKS[0], "train")
    path.unlink()
    with pytest.raises(UserError, match=r"train-2.npy: no such file"):
        load_rows(folder, TASKS[0], "train")


def test_what_is_not_there_is_named(tokens, tmp_path):
    folder, _ = tokens
    with pytest.raises(UserError, match="no task en-zh; it has en-de, en-fr"):
        load_rows(folder, "en-zh", "train")
    with pytest.raises(UserError, match="no split news of en-de; it has in_domain"):
        load_rows(folder, "en-de", "news")
    with pytest.raises(UserError, match="run tokenize first"):
        load_rows(tmp_path, "en-de", "train")
