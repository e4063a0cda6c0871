"""Adafactor against Keras's own, a stack against its models, and the schedule."""

import keras
import numpy as np
import pytest

from models.nmt.optimizer import Adafactor, InverseSquareRoot

SHAPES = [(7, 5), (6,), (3, 4)]


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


@pytest.mark.parametrize(
    "step, expected",
    [(0, 0.5 / 40), (19, 0.25), (39, 0.5), (159, 0.25), (3999, 0.05)],
)
def test_inverse_square_root(step, expected):
    schedule = InverseSquareRoot(0.5, 40)
    assert float(schedule(step)) == pytest.approx(expected, rel=1e-5)
