"""Adafactor, momentum and schedule together against a derivation in NumPy.

Algorithm 4 of Shazeer & Stern (2018) as it is printed, with row and column *sums*, in
float64; momentum as a running mean of the scaled updates ([N] App. C); the rate of the
inverse-square-root schedule. One model at a time, many steps, past the warm-up.
"""

import keras
import numpy as np
import pytest

from models.nmt.optimizer import Adafactor, InverseSquareRoot

SHAPES = [(7, 5), (6,), (3, 4), (7, 5), (6,)]
PEAK, WARMUP, STEPS, MODELS = 0.08, 9, 30, 2


def rms(x):
    return np.sqrt(np.mean(x**2))


class Reference:
    """One variable of one model."""

    def __init__(self, start, momentum):
        self.x = start.astype(np.float64)
        self.rows = self.columns = self.moment = self.mean = 0.0
        self.momentum, self.t = momentum, 0

    def update(self, gradient):
        self.t += 1
        squared = gradient.astype(np.float64) ** 2 + 1e-30
        beta2 = 1 - self.t**-0.8
        if self.x.ndim == 2:
            self.rows = beta2 * self.rows + (1 - beta2) * squared.sum(axis=1)
            self.columns = beta2 * self.columns + (1 - beta2) * squared.sum(axis=0)
            moment = np.outer(self.rows, self.columns) / self.rows.sum()
        else:
            self.moment = beta2 * self.moment + (1 - beta2) * squared
            moment = self.moment
        update = gradient / np.sqrt(moment)
        update = update / max(1.0, rms(update))
        rate = PEAK * min(self.t / WARMUP, (WARMUP / self.t) ** 0.5)
        update = rate * max(1e-3, rms(self.x)) * update
        if self.momentum:
            self.mean = self.momentum * self.mean + (1 - self.momentum) * update
            update = self.mean
        self.x = self.x - update


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_stack_follows_the_paper(momentum):
    rng = np.random.default_rng(12)
    start = [rng.normal(0, 0.5, (MODELS, *s)).astype("float32") for s in SHAPES]
    start[1][0] = 1e-5  # smaller than epsilon_2
    gradients = [
        [
            # Now and then one that is clipped; one model's far larger than the other's.
            rng.normal(0, 30.0 if step == 20 else 0.1, (MODELS, *shape))
            * np.array([1.0, 50.0]).reshape(-1, *[1] * len(shape))
            for shape in SHAPES
        ]
        for step in range(STEPS)
    ]
    references = [
        [Reference(value[model], momentum) for value in start]
        for model in range(MODELS)
    ]
    for step in gradients:
        for model, variables in enumerate(references):
            for one, gradient in zip(variables, step, strict=True):
                one.update(gradient[model])

    variables = [keras.Variable(value) for value in start]
    schedule = InverseSquareRoot(PEAK, WARMUP)
    optimizer = Adafactor(schedule, stacked=True, momentum=momentum)
    optimizer.build(variables)
    for step in gradients:
        tensors = [keras.ops.convert_to_tensor(g, "float32") for g in step]
        optimizer.apply(tensors, variables)
    for place, variable in enumerate(variables):
        moved = 0.0
        for model in range(MODELS):
            found = keras.ops.convert_to_numpy(variable)[model]
            expected = references[model][place].x
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
            moved = max(moved, np.abs(expected - start[place][model]).max())
        assert moved > 1e-3
