"""Checkpoints survive what happens to files."""

import logging

import numpy as np
import pytest

from components.artifacts import checkpoints
from models.errors import UserError


def test_round_trip_with_a_record(tmp_path):
    arrays = {"model/a": np.arange(6.0).reshape(2, 3), "n": np.array(7)}
    checkpoints.save(tmp_path / "x" / "c.npz", arrays, {"step": 3, "curve": [1.5]})
    found, record = checkpoints.load(tmp_path / "x" / "c.npz")
    assert record == {"step": 3, "curve": [1.5]}
    for name, value in arrays.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_newest_falls_back_and_says_so(tmp_path, caplog, damage):
    for step in (100, 200, 300):
        arrays = {"w": np.full((40, 50), step, "float32")}
        checkpoints.save_step(tmp_path, step, arrays, {"step": step})
    newest = tmp_path / "step-00000300.npz"
    content = bytearray(newest.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[len(content) // 2] ^= 0xFF
    else:
        content = bytearray()
    newest.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        arrays, record = checkpoints.load_newest(tmp_path)
    assert record["step"] == 200 and (arrays["w"] == 200).all()
    assert "step-00000300.npz" in caplog.text


def test_only_the_newest_are_kept(tmp_path):
    for step in (5, 10, 15):
        checkpoints.save_step(tmp_path, step, {"w": np.zeros(2)}, None, keep=2)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step-00000010.npz", "step-00000015.npz"]


def test_nothing_there_is_nothing(tmp_path):
    assert checkpoints.load_newest(tmp_path) is None


def test_no_single_damaged_byte_gives_other_weights(tmp_path):
    arrays = {"a": np.arange(40.0), "b": np.arange(12, dtype="int64").reshape(3, 4)}
    path = tmp_path / "c.npz"
    checkpoints.save(path, arrays, {"step": 3})
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for place in rng.choice(len(whole), 300, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found, record = checkpoints.load(path)
        except ValueError as error:
            assert "c.npz: " in str(error)
            refused += 1
            continue
        # A byte that says when the file was made, and the like.
        assert record == {"step": 3} and found.keys() == arrays.keys()
        for name, value in arrays.items():
            np.testing.assert_array_equal(found[name], value)
    assert refused > 150


def test_a_checkpoint_of_an_older_form_is_a_message(tmp_path):
    record = np.frombuffer(b'{"size": "9k"}', np.uint8)
    np.savez(tmp_path / "c.npz", __record__=record, w=np.ones(3))
    with pytest.raises(UserError, match="c.npz: a checkpoint of an older version"):
        checkpoints.load(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", w=np.ones(3))
    with pytest.raises(UserError, match="d.npz: not a checkpoint of ours"):
        checkpoints.load(tmp_path / "d.npz")


def test_no_readable_checkpoint_is_said(tmp_path, caplog):
    for step in (1, 2):
        (tmp_path / f"step-{step:08d}.npz").write_bytes(b"PK nothing")
    with caplog.at_level(logging.WARNING):
        assert checkpoints.load_newest(tmp_path) is None
    assert "no readable checkpoint is left; from the start" in caplog.text


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / ".step-00000005.npz.123.tmp").write_bytes(b"half")
    checkpoints.save_step(tmp_path, 10, {"w": np.zeros(2)}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000010.npz"]
