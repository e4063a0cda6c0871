"""What is refused before any step."""

import dataclasses
import errno
import logging
import os
import shutil
import signal
from collections import namedtuple

import numpy as np
import pytest

from components.artifacts.token_index import TokenIndex
from components.artifacts.trial import Trial
from components.engines import preemption
from components.train import run, storage, worker
from components.train.config import Config
from components.train.curves import evaluation_steps
from components.train.group import form_groups
from components.train.sweep_data import batch_rows, micro_batches
from models.errors import FieldError, UserError
from models.nmt.sizes import count_parameters, get_shape
from tests.components.train.sweep_data import TASKS, VOCABULARY, in_memory, packed_rows
from tests.components.train.token_files import write_tokens

CONFIG = Config(sizes=("2k",), mixtures=(0.3,), steps=40, warmup_steps=10)


def trial(weights, size="2k"):
    return Trial("en-xx", size, tuple(zip(TASKS, weights, strict=True)))


@pytest.fixture(autouse=True)
def no_workers(monkeypatch):
    def start(*_):
        raise AssertionError("a worker was started")

    monkeypatch.setattr("components.train.worker_pool._start", start)


def train(tokens, output, *trials, config=CONFIG):
    return run(config, trials=trials, tokens=tokens, output=output)


def test_a_task_with_weight_and_no_data(tmp_path):
    write_tokens(tmp_path / "tokens", train_rows=(30, 0))
    with pytest.raises(UserError, match="en-fr has weight 0.7 and no training data"):
        train(tmp_path / "tokens", tmp_path / "train", trial((0.3, 0.7)))
    assert not (tmp_path / "train").exists()


def test_weights_that_do_not_sum_to_one():
    with pytest.raises(UserError, match="en-de=0.3 en-fr=0.8.*sum to 1.1, expected 1"):
        trial((0.3, 0.8))


def test_an_unknown_size(tmp_path):
    write_tokens(tmp_path / "tokens")
    with pytest.raises(UserError, match="unknown size '127m'.*did you mean 127M"):
        train(tmp_path / "tokens", tmp_path / "train", trial((0.3, 0.7), "127m"))


def test_a_strategy_without_what_it_needs(tmp_path, monkeypatch):
    write_tokens(tmp_path / "tokens")
    monkeypatch.delenv("TF_CONFIG", raising=False)
    config = dataclasses.replace(CONFIG, strategy="multi_worker")
    with pytest.raises(UserError, match="multi_worker, and TF_CONFIG is not set"):
        train(tmp_path / "tokens", tmp_path / "train", trial((1, 0)), config=config)


def test_a_folder_that_cannot_be_written_to(tmp_path):
    write_tokens(tmp_path / "tokens")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="file/train: cannot be written to: Not a dir"):
        train(tmp_path / "tokens", tmp_path / "file" / "train", trial((0.3, 0.7)))


def test_a_disk_without_room(tmp_path, monkeypatch):
    write_tokens(tmp_path / "tokens")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 20_000))
    with pytest.raises(
        UserError, match=r"20 kB free, the sweep needs about .*\(.* checkpoints, "
    ):
        train(tmp_path / "tokens", tmp_path / "train", trial((0.3, 0.7)))


def test_room_is_counted_for_what_is_written():
    config = dataclasses.replace(CONFIG, stack=2, ema_decay=0.9)
    trials = [trial((p, 1 - p)) for p in (0.1, 0.2, 0.3, 0.4)]
    groups = form_groups(config, trials)
    total = count_parameters(get_shape("2k"), VOCABULARY).total
    index = TokenIndex(VOCABULARY, 12, 12, {})
    one = storage._checkpoint_bytes(config, groups, index, 1)
    # Two trials, weights and average, two kept and one being written, 4 bytes each.
    assert one == 2 * total * 2 * 3 * 4
    assert storage._checkpoint_bytes(config, groups, index, 2) == 2 * one
    heavier = dataclasses.replace(config, momentum=0.9)
    assert storage._checkpoint_bytes(heavier, groups, index, 1) == 3 * one // 2
    assert storage._weight_bytes(config, groups, index) == 4 * total * 4
    config = dataclasses.replace(config, keep_weights=True)
    kept = len(evaluation_steps(config, config.steps))
    assert storage._weight_bytes(config, groups, index) == 4 * total * 4 * (1 + kept)


def rows():
    return in_memory([packed_rows(np.random.default_rng(0), 9, 0)])


def test_a_batch_that_does_not_hold_its_rows():
    config = dataclasses.replace(CONFIG, batch_tokens=11)
    with pytest.raises(UserError, match="less than one row of 12"):
        batch_rows(config, rows())
    config = dataclasses.replace(CONFIG, batch_tokens=24)
    with pytest.raises(UserError, match="one row on each of 4 devices"):
        batch_rows(config, rows(), 4)
    config = dataclasses.replace(CONFIG, batch_tokens=120)
    with pytest.raises(UserError, match="10 rows.*4 devices cannot share.*try 96"):
        batch_rows(config, rows(), 4)
    assert batch_rows(config, rows(), 5) == 10


def test_parts_are_of_one_size_and_as_few_as_fit():
    def parts(tokens, count):
        config = dataclasses.replace(CONFIG, micro_batch_tokens=tokens)
        return micro_batches(config, count, 12)

    assert parts(None, 10) == 1
    assert parts(120, 10) == 1
    assert parts(60, 10) == 2
    # Four rows fit, but ten rows make no parts of three or four.
    assert parts(48, 10) == 5
    assert parts(12, 7) == 7
    with pytest.raises(UserError, match="micro_batch_tokens: 11 is less than one row"):
        parts(11, 10)


@pytest.mark.parametrize("field, value", [("micro_batch_tokens", 0)])
def test_options_out_of_range(field, value):
    with pytest.raises(FieldError, match=f"{field}: got 0, expected at least 1"):
        dataclasses.replace(CONFIG, **{field: value})


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_fails_in_training_is_said_and_not_tried_again(
    monkeypatch, tmp_path, number
):
    """Whatever is being written: curves, records, events."""

    class Trainer:
        def __init__(self, *_, **__):
            pass

        def run(self):
            raise OSError(number, "what the system says", str(tmp_path / "curve.csv"))

    monkeypatch.setattr("components.train.trainer.GroupTrainer", Trainer)
    assignment = worker.Assignment(CONFIG, TASKS, *[tmp_path] * 3, threads=1)
    (group,) = form_groups(CONFIG, [trial((0.3, 0.7))])
    with pytest.raises(UserError, match="curve.csv: cannot be written: what the syst"):
        worker._train(assignment, group, None, None, print, bool, 0.0)


def test_other_failures_of_the_system_are_not_called_a_full_disk(monkeypatch, tmp_path):
    class Trainer:
        def __init__(self, *_, **__):
            raise OSError(errno.EIO, "broken")

    monkeypatch.setattr("components.train.trainer.GroupTrainer", Trainer)
    assignment = worker.Assignment(CONFIG, TASKS, *[tmp_path] * 3, threads=1)
    (group,) = form_groups(CONFIG, [trial((0.3, 0.7))])
    with pytest.raises(OSError, match="broken"):
        worker._train(assignment, group, None, None, print, bool, 0.0)


def test_a_request_to_stop_is_noticed_once_and_the_handler_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with preemption.noticed() as stop:
        assert not stop.requested
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
        assert os.read(stop.fileno(), 10) == b"\0"
    assert signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(preemption.Preempted, match="the same command continues"):
        with preemption.raising():
            os.kill(os.getpid(), signal.SIGTERM)
            logging.info("a moment for the signal")
    assert signal.getsignal(signal.SIGTERM) is before
