"""Training that is interrupted, fails or shares its models with others."""

import contextlib
import dataclasses
import resource

import numpy as np
import pytest

from components.artifacts import checkpoints, metrics_table
from components.artifacts.trial_folder import CURVE, WEIGHTS, TrialRecord
from components.engines.cross_entropy import Scorer
from components.train.config import Anneal, Config
from components.train.group import Group
from components.train.model_stack import ModelStack, StackCache
from components.train.sweep_data import batch_rows
from components.train.trainer import GroupTrainer
from models.errors import UserError
from models.nmt.sizes import get_shape
from tests.components.train.read_events import scalars
from tests.components.train.sweep_data import group, sweep_data

CONFIG = Config(
    sizes=("2k",),
    mixtures=(0.3, 0.8),
    steps=40,
    steps_per_execution=5,
    batch_tokens=60,
    warmup_steps=10,
    ema_decay=0.9,
    evaluations=4,
    checkpoint_seconds=0,
)


@pytest.fixture(scope="module")
def data():
    return sweep_data()


def train(data, folder, members, *, at=None, config=CONFIG, stacks=None):
    """Trains a group; ``at``: step -> what to do to the trainer at that step."""

    def report(step, _steps):
        if at and step in at:
            at[step](trainer)

    trainer = GroupTrainer(
        config,
        members,
        data,
        output=folder,
        progress=folder / ".progress",
        report=report,
        stacks=stacks,
    )
    if at and 0 in at:
        at[0](trainer)
    trainer.run()
    return trainer


def results(folder, members):
    """Weights and curve of every trial."""
    found = []
    for trial in members.trials:
        arrays, _ = checkpoints.load(folder / trial.id / WEIGHTS)
        found.append((arrays, metrics_table.load(folder / trial.id / CURVE)))
    return found


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(data, folder, group())
    return folder


def test_it_learns(data, uninterrupted):
    fresh = ModelStack(CONFIG, get_shape("2k"), data.vocabulary_size, [0, 1])
    before = fresh.evaluate(data.test_sets)
    for place, (_, curve) in enumerate(results(uninterrupted, group())):
        after = [row.loss for row in curve if row.step == 40]
        start = [losses.loss[place] for losses in before]
        assert len(after) == 2
        assert all(b < a - 0.2 for a, b in zip(start, after, strict=True))


def test_groups_of_one_size_share_a_stack_and_nothing_else(
    data, uninterrupted, tmp_path
):
    stacks = StackCache(CONFIG, data.vocabulary_size)
    first = train(data, tmp_path / "a", group(seeds=(7, 8)), stacks=stacks)
    second = train(data, tmp_path / "b", group(), stacks=stacks)
    assert second.stack is first.stack
    for alone, shared in zip(
        results(uninterrupted, group()), results(tmp_path / "b", group()), strict=True
    ):
        assert alone[1] == shared[1]
        for name in alone[0]:
            np.testing.assert_array_equal(alone[0][name], shared[0][name])


@pytest.mark.parametrize("block", ["t5", "vaswani"])
def test_a_stack_is_reset_as_if_new(block):
    """Whatever it has been through; averages of the weights included."""
    config = dataclasses.replace(CONFIG, momentum=0.9)
    shape = dataclasses.replace(get_shape("2k"), block=block)

    def make():
        return ModelStack(config, shape, 30, [3, 4])

    used = make()
    for variable in (*used.model.trainable_variables, *used.optimizer.variables):
        variable.assign(variable.numpy() + 1)
    used.reset([3, 4])
    fresh = make().state()
    state = used.state()
    assert state.keys() == fresh.keys()
    for name, value in fresh.items():
        np.testing.assert_array_equal(state[name], value, err_msg=name)


@contextlib.contextmanager
def disk_for_files_of(size):
    """Writing beyond this many bytes in a file fails, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_stops_it_and_resumed_it_is_bit_identical(
    data, uninterrupted, tmp_path
):
    with contextlib.ExitStack() as disk:
        full = disk_for_files_of(20_000)
        with pytest.raises(UserError, match="step-00000025.npz: cannot be written.*"):
            train(data, tmp_path, group(), at={25: lambda _: disk.enter_context(full)})
    left = sorted(path.name for path in (tmp_path / ".progress").iterdir())
    assert left == ["step-00000015.npz", "step-00000020.npz"]
    resumed_at = []
    train(data, tmp_path, group(), at={0: lambda t: resumed_at.append(t.step)})
    assert resumed_at == [20]
    for whole, resumed in zip(
        results(uninterrupted, group()), results(tmp_path, group()), strict=True
    ):
        assert whole[1] == resumed[1]
        assert whole[0].keys() == resumed[0].keys()
        for name in whole[0]:
            np.testing.assert_array_equal(whole[0][name], resumed[0][name])
    # What was logged after the last checkpoint is not there twice.
    for trial in group().trials:
        steps = [event.step for event in scalars(tmp_path, trial, "loss/training")]
        assert steps == sorted(set(steps)) and steps[-1] == 40


def test_online_selection_goes_on_where_it_was_interrupted(
    data, uninterrupted, tmp_path
):
    config = dataclasses.replace(CONFIG, anneal=Anneal(keep=0.1, by=0.8))

    def interrupt(_):
        raise InterruptedError

    train(data, tmp_path / "whole", group(), config=config)
    with pytest.raises(InterruptedError):
        train(data, tmp_path / "parts", group(), config=config, at={25: interrupt})
    resumed_at = []
    again = {0: lambda trainer: resumed_at.append(trainer.step)}
    train(data, tmp_path / "parts", group(), config=config, at=again)
    assert resumed_at == [20]
    whole, parts = (results(tmp_path / name, group()) for name in ("whole", "parts"))
    for one, other in zip(whole, parts, strict=True):
        assert one[1] == other[1]
        for name in one[0]:
            np.testing.assert_array_equal(one[0][name], other[0][name])
    plain = results(uninterrupted, group())
    assert any((plain[0][0][n] != whole[0][0][n]).any() for n in plain[0][0])


def test_a_trial_alone_and_in_a_stack_is_the_same(data, uninterrupted, tmp_path):
    alone = group((0.8,), (1,))
    train(data, tmp_path, alone)
    ((_, curve),) = results(tmp_path, alone)
    _, (_, stacked) = results(uninterrupted, group())
    for a, b in zip(curve, stacked, strict=True):
        assert dataclasses.replace(a, loss=None) == dataclasses.replace(b, loss=None)
        assert a.loss == pytest.approx(b.loss, rel=1e-3)


def poison(trainer):
    """Makes the first trial of a stack diverge."""
    kernel = trainer.stack.model.softmax.kernel
    values = kernel.numpy()
    values[0, 0, 0] = np.nan
    kernel.assign(values)


def test_a_failing_trial_does_not_take_the_others_along(data, tmp_path):
    members = group((0.3, 0.3), (0, 4))
    kept = {}

    def remember(trainer):
        kept.update(trainer.stack.state())

    train(data, tmp_path, members, at={20: remember, 25: poison})
    first, second = (TrialRecord.load(tmp_path / trial.id) for trial in members.trials)
    assert first.status == "failed"
    assert "nan in steps 25-30; the last good checkpoint is of step" in first.reason
    assert second.status == "done" and second.reason is None
    failed, done = (
        metrics_table.load(tmp_path / trial.id / CURVE) for trial in members.trials
    )
    assert max(row.step for row in failed) <= 25 < max(row.step for row in done)
    assert all(np.isfinite(row.loss) for row in failed + done)
    # The weights of the last good checkpoint are kept.
    weights, record = checkpoints.load_weights(
        tmp_path / members.trials[0].id / WEIGHTS
    )
    assert record.step == 20
    for name, value in weights.items():
        np.testing.assert_array_equal(value, kept[f"model/{name}"][0])


def test_a_group_stops_when_all_of_it_has_failed(data, tmp_path):
    trainer = train(data, tmp_path, group((0.3,), (0,)), at={0: poison})
    assert trainer.step == 5
    record = TrialRecord.load(tmp_path / trainer.group.trials[0].id)
    assert "the last good checkpoint is of step 0, the start" in record.reason


def test_a_checkpoint_of_something_else_is_refused(data, uninterrupted):
    def resume(members, found=data):
        train(found, uninterrupted, members)

    other = dataclasses.replace(data, vocabulary="digest of another")
    with pytest.raises(UserError, match="checkpoint of vocabulary digest of a voc"):
        resume(group(), other)
    larger = tuple(dataclasses.replace(t, size="4k") for t in group().trials)
    with pytest.raises(UserError, match="checkpoint of size 2k, expected 4k"):
        resume(Group("4k", larger))
    with pytest.raises(UserError, match="checkpoint of trials"):
        resume(group((0.4, 0.8)))


def test_evaluation_is_every_sentence_once(data, uninterrupted, monkeypatch):
    trainer = train(data, uninterrupted, group())
    measured = trainer.stack.evaluate(data.test_sets)
    for test_set, losses in zip(data.test_sets, measured, strict=True):
        assert losses.nats.shape == (2, test_set.sentences)
        # Sentences of 5 and 6 tokens, numbered as the test set numbers them.
        expected = np.where(np.arange(14)[None] % 2 == 0, 5, 6)[0]
        slots = test_set.sentence_ids
        by_number = {slots[r, k]: (5, 6)[k] for r in range(7) for k in range(2)}
        assert [by_number[n] for n in range(14)] == losses.tokens.tolist()
        assert sorted(losses.tokens.tolist()) == sorted(expected.tolist())
    # Another batch shape, the same losses.
    monkeypatch.setattr("components.engines.cross_entropy.BATCH_ROWS", 3)
    scorer = Scorer(trainer.stack.final_model())
    again = [scorer.score(test_set) for test_set in data.test_sets]
    for a, b in zip(measured, again, strict=True):
        np.testing.assert_allclose(a.nats, b.nats, rtol=1e-5)


def test_a_batch_smaller_than_a_row_is_refused(data):
    config = dataclasses.replace(CONFIG, batch_tokens=11)
    with pytest.raises(UserError, match="less than one row of 12"):
        batch_rows(config, data.rows)
