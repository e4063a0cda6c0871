"""Adafactor against Keras's own, a stack against its models, and the schedule."""

import keras
import numpy as np
import pytest

from models.nmt import optimizer as optimizer_module
from models.nmt.optimizer import Adafactor, InverseSquareRoot

# Two of one shape: those are updated together.
SHAPES = [(7, 5), (6,), (3, 4), (7, 5), (6,)]


def run(optimizer, start, gradients):
    variables = [keras.Variable(value) for value in start]
    optimizer.build(variables)
    for step in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
    return [keras.ops.convert_to_numpy(variable) for variable in variables]


def draw(rng, steps=6):
    start = [rng.normal(size=shape).astype("float32") for shape in SHAPES]
    gradients = [
        [rng.normal(0, 0.1 * (i + 1), s).astype("float32") for s in SHAPES]
        for i in range(steps)
    ]
    return start, gradients


def test_equals_keras_adafactor_on_one_model():
    start, gradients = draw(np.random.default_rng(0))
    # A schedule keeps Keras from capping the rate by 1 / sqrt(step).
    rate = keras.optimizers.schedules.PolynomialDecay(0.01, 100, 0.01)
    theirs = run(
        keras.optimizers.Adafactor(rate, relative_step=False), start, gradients
    )
    ours = run(Adafactor(rate), start, gradients)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_models_of_a_stack_are_updated_apart():
    rng = np.random.default_rng(1)
    models = [draw(rng) for _ in range(3)]
    # A very large gradient in one model must not shrink the others' updates.
    models[1] = (models[1][0], [[1e3 * g for g in s] for s in models[1][1]])
    stacked_start = [
        np.stack(part) for part in zip(*(m[0] for m in models), strict=True)
    ]
    stacked_gradients = [
        [np.stack(part) for part in zip(*steps, strict=True)]
        for steps in zip(*(m[1] for m in models), strict=True)
    ]
    together = run(Adafactor(0.02, stacked=True), stacked_start, stacked_gradients)
    for place, (start, gradients) in enumerate(models):
        alone = run(Adafactor(0.02), start, gradients)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[place], b, rtol=1e-5, atol=1e-6)


def test_momentum_is_a_running_mean_of_the_updates():
    """Against the updates of Adafactor without momentum, averaged in NumPy.

    One step at a time, because an update depends on the size of its weight.
    """
    start, gradients = draw(np.random.default_rng(2))
    decay, rate = 0.7, 0.02
    momentum = Adafactor(rate, momentum=decay)
    variables = [keras.Variable(value) for value in start]
    momentum.build(variables)
    plain = Adafactor(rate)
    shadow = [keras.Variable(value) for value in start]
    plain.build(shadow)
    means = [np.zeros(shape) for shape in SHAPES]
    for step in gradients:
        before = [variable.numpy() for variable in variables]
        for copy, value in zip(shadow, before, strict=True):
            copy.assign(value)
        tensors = [keras.ops.convert_to_tensor(g) for g in step]
        momentum.apply(tensors, variables)
        plain.apply(tensors, shadow)
        for i, (copy, value) in enumerate(zip(shadow, before, strict=True)):
            update = value - copy.numpy()
            means[i] = decay * means[i] + (1 - decay) * update
            np.testing.assert_allclose(
                value - variables[i].numpy(), means[i], atol=1e-6
            )


def test_average_of_the_weights():
    """Against the same average taken in NumPy, its warm-up and its end included."""
    start, gradients = draw(np.random.default_rng(3), steps=12)
    optimizer = Adafactor(0.02, ema_decay=0.5)
    variables = [keras.Variable(value) for value in start]
    optimizer.build(variables)
    averages = start
    for number, step in enumerate(gradients, start=1):
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
        keep = min(0.5, (1 + number) / (10 + number))
        averages = [
            keep * average + (1 - keep) * variable.numpy()
            for average, variable in zip(averages, variables, strict=True)
        ]
    for ours, expected in zip(optimizer.averages(), averages, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_large_variables_are_updated_on_their_own(monkeypatch):
    start, gradients = draw(np.random.default_rng(4))
    together = run(Adafactor(0.02, momentum=0.8), start, gradients)
    monkeypatch.setattr(optimizer_module, "TOGETHER", 20)
    apart = run(Adafactor(0.02, momentum=0.8), start, gradients)
    for a, b in zip(together, apart, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_reset_forgets_updates_and_keeps_the_rate():
    start, gradients = draw(np.random.default_rng(5))
    optimizer = Adafactor(0.02, momentum=0.8, ema_decay=0.5)
    variables = [keras.Variable(value) for value in start]
    optimizer.build(variables)
    ends = []
    for _ in range(2):
        for variable, value in zip(variables, start, strict=True):
            variable.assign(value)
        optimizer.reset()
        for step in gradients:
            optimizer.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
        ends.append(
            [*(v.numpy() for v in variables), *map(np.asarray, optimizer.averages())]
        )
    for first, second, value in zip(*ends, [*start, *start], strict=True):
        np.testing.assert_array_equal(first, second)
        assert (first != value).any()


def test_a_gradient_for_each_variable_is_asked_for():
    optimizer = Adafactor(0.02)
    variables = [keras.Variable(np.ones(shape)) for shape in SHAPES]
    optimizer.build(variables)
    with pytest.raises(ValueError, match="1 gradients for the 5 variables"):
        optimizer.apply([keras.ops.ones(SHAPES[0])], variables[:1])


@pytest.mark.parametrize(
    "step, expected",
    [(0, 0.5 / 40), (19, 0.25), (39, 0.5), (159, 0.25), (3999, 0.05)],
)
def test_inverse_square_root(step, expected):
    schedule = InverseSquareRoot(0.5, 40)
    assert float(schedule(step)) == pytest.approx(expected, rel=1e-5)
