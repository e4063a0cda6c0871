"""What TensorBoard shows of a trial, read with TensorBoard's own reader."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.data_provider import (
    MultiplexerDataProvider,
)
from tensorboard.backend.event_processing.plugin_event_multiplexer import (
    EventMultiplexer,
)
from tensorboard.context import RequestContext
from tensorboard.plugins.hparams import api_pb2, list_session_groups
from tensorboard.plugins.hparams.backend_context import Context

from components.artifacts import metrics_table
from components.artifacts.trial_folder import CURVE, TENSORBOARD
from components.train import telemetry
from components.train.config import Config
from components.train.event_files import TrialEvents
from components.train.trainer import GroupTrainer
from models.nmt.sizes import count_parameters, get_shape
from tests.components.train.read_events import accumulated, values
from tests.components.train.sweep_data import VOCABULARY, group, sweep_data

CONFIG = Config(
    sizes=("2k",),
    mixtures=(0.3, 0.8),
    steps=40,
    steps_per_execution=5,
    batch_tokens=60,
    warmup_steps=10,
    evaluations=4,
)
MEMBERS = group()


def first_gradient(trainer):
    """Norm of the first step's gradient, by a tape of its own."""
    batch = next(iter(trainer._batches()))[0]
    *fields, segments = (field[0] for field in batch)
    model = trainer.stack.model
    with tf.GradientTape() as tape:
        mask = tf.cast(segments > 0, tf.float32)
        nats = model.token_losses(*fields, segments) * mask
        loss = tf.reduce_sum(nats, (1, 2)) / tf.reduce_sum(mask, (1, 2))
        total = tf.reduce_sum(loss)
    gradients = tape.gradient(total, model.trainable_variables)
    return np.sqrt(
        sum(np.square(g.numpy()).reshape(2, -1).sum(axis=1) for g in gradients)
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    data = sweep_data()
    trainer = GroupTrainer(
        CONFIG,
        MEMBERS,
        data,
        output=folder,
        progress=folder / ".progress",
        report=lambda step, steps: None,
    )
    trainer.run()
    return folder, trainer


def test_losses_are_those_of_the_curve(trained):
    folder, _ = trained
    for trial in MEMBERS.trials:
        curve = metrics_table.load(folder / trial.id / CURVE)
        for task in ("en-de", "en-fr"):
            expected = {row.step: row.loss for row in curve if row.task == task}
            shown = values(folder, trial, f"loss/{task}/in_domain")
            assert shown == pytest.approx(expected, rel=1e-6)
            assert len(shown) >= 4


def test_shares_epochs_and_rate(trained):
    folder, trainer = trained
    for index, trial in enumerate(MEMBERS.trials):
        for kind in ("examples", "target_tokens"):
            shares = [
                values(folder, trial, f"share/{kind}/{task}")[40]
                for task in ("en-de", "en-fr")
            ]
            assert sum(shares) == pytest.approx(1, abs=1e-4)
            assert shares[0] == pytest.approx(trial.weight("en-de"), abs=0.15)
        rows = trainer.seen.rows[index]
        assert rows.sum() == 40 * 5
        epochs = values(folder, trial, "epochs/en-fr")
        assert epochs[40] == pytest.approx(rows[1] / 40, abs=1e-3)
        rates = values(folder, trial, "learning_rate")
        assert rates[40] == pytest.approx(0.1 * (10 / 41) ** 0.5, rel=1e-4)


def test_speed_is_flops_over_time_and_the_measured_peak(trained):
    folder, trainer = trained
    trial = MEMBERS.trials[0]
    speed = values(folder, trial, "speed/flops_per_second")
    share = values(folder, trial, "speed/utilisation")
    tokens = values(folder, trial, "speed/target_tokens_per_second")
    peak = telemetry.matmul_peak("float32")
    assert 1e9 < peak < 1e15
    flops = telemetry.step_flops(get_shape("2k"), VOCABULARY, 5, (12, 12))
    for step, value in speed.items():
        assert 0 < share[step] < 1
        assert share[step] == pytest.approx(value / peak, rel=1e-5)
        # Both trials; 11 of 12 positions are target tokens.
        assert value / tokens[step] == pytest.approx(flops * 2 / (2 * 5 * 11), rel=1e-4)


@pytest.mark.parametrize("size, tables", [("5535k", 2), ("5L6L-d160-ff900-h10", 3)])
def test_flops_are_six_a_weight_and_position(size, tables):
    """Less attention over the row, norms and position biases, which are small."""
    shape = get_shape(size)
    count = count_parameters(shape, 4000)
    weights = count.n + count.n_embedding / tables
    flops = telemetry.step_flops(shape, 4000, 3, (16, 16))
    assert flops == pytest.approx(6 * weights * 3 * 16, rel=0.02)
    # The encoder and the keys and values of its attention are at source positions.
    longer = telemetry.step_flops(shape, 4000, 3, (32, 16)) - flops
    encoder = count.n_enc + shape.dec_layers * 2 * shape.d_model**2
    assert longer == pytest.approx(6 * encoder * 3 * 16, rel=0.06)


def test_norms(trained, tmp_path):
    folder, _ = trained
    trainer = GroupTrainer(
        CONFIG,
        MEMBERS,
        sweep_data(),
        output=tmp_path,
        progress=tmp_path / ".progress",
        report=lambda step, steps: None,
    )
    expected = first_gradient(trainer)
    weights = trainer.stack.model.trainable_variables
    at_start = [
        np.sqrt(sum(np.square(w.numpy()[i]).sum() for w in weights)) for i in (0, 1)
    ]
    np.testing.assert_allclose(trainer.stack.norms()[1], at_start, rtol=1e-6)
    fields, _ = next(iter(trainer._batches()))
    trainer.stack.train([field[:1] for field in fields])
    # After the first step the running mean is the first square.
    np.testing.assert_allclose(trainer.stack.norms()[0], expected, rtol=1e-4)
    for trial in MEMBERS.trials:
        assert values(folder, trial, "norm/gradient")[40] > 0
        assert values(folder, trial, "norm/parameters")[40] > 0


def session_groups(folder, sort_by):
    """Rows of TensorBoard's HParams table, sorted by a column."""
    multiplexer = EventMultiplexer()
    for trial in MEMBERS.trials:
        multiplexer.AddRun(str(folder / trial.id / TENSORBOARD), trial.id)
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(folder))
    context = Context(SimpleNamespace(data_provider=provider))
    metric = api_pb2.MetricName(tag="final/en-de/in_domain")
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=10,
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_RUNNING],
        col_params=[
            api_pb2.ColParams(hparam=sort_by, order=api_pb2.ORDER_DESC),
            api_pb2.ColParams(metric=metric),
        ],
    )
    handler = list_session_groups.Handler(
        RequestContext(), context, "experiment", request
    )
    return list(handler.run().session_groups)


def test_the_sweep_sorts_by_weight(trained):
    folder, _ = trained
    rows = session_groups(folder, "weight/en-de")
    assert [row.name for row in rows] == [t.id for t in reversed(MEMBERS.trials)]
    shown = dict(rows[0].hparams.items())
    assert shown["size"].string_value == "2k"
    assert shown["n"].number_value == count_parameters(get_shape("2k"), VOCABULARY).n
    assert shown["weight/en-de"].number_value == pytest.approx(0.8)
    finals = {value.name.tag: value.value for value in rows[0].metric_values}
    losses = values(folder, MEMBERS.trials[1], "loss/en-de/in_domain")
    last = [loss for step, loss in losses.items() if step > 36]
    assert finals["final/en-de/in_domain"] == pytest.approx(np.median(last), rel=1e-6)


def test_a_resumed_session_takes_back_what_is_not_in_its_checkpoint(tmp_path):
    class Named:
        id = "trial"

    folder = tmp_path / Named.id / TENSORBOARD
    events = TrialEvents(folder)
    for step in (10, 20, 30):
        events.scalars(step, {"loss": step / 10})
    resumed = TrialEvents(folder, 20)
    resumed.scalars(30, {"loss": 7.0})
    assert values(tmp_path, Named, "loss") == {10: 1, 20: 2, 30: 7}
    TrialEvents(folder)  # from the start: all earlier events are forgotten
    assert accumulated(tmp_path, Named).Tags()["tensors"] == []
