"""Adafactor and the inverse-square-root schedule, for one model or a stack."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to ``peak``, then ``peak * sqrt(warmup_steps / step)``.

    [M] section 3.1, [N] App. C. Step 0 is the first update, and its rate is
    ``peak / warmup_steps``.
    """

    def __init__(self, peak: float, warmup_steps: int):
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        warmup = float(max(self.warmup_steps, 1))
        decay = ops.sqrt(warmup / ops.maximum(step, warmup))
        return self.peak * ops.minimum(step / warmup, 1.0) * decay

    def get_config(self) -> dict:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


class Adafactor(keras.optimizers.Optimizer):
    """Adafactor (Shazeer & Stern 2018) that keeps the models of a stack apart.

    Keras's own Adafactor takes its root mean squares over a whole variable; here
    they are taken over one model's share of it, and a vector stays a vector
    although the stack makes it a matrix. For a single model the two agree.

    Args:
      learning_rate: A number or a schedule; relative to the root mean square of
        each weight (at least ``epsilon_2``).
      stacked: Whether every variable has a leading stack axis.
      beta_2_decay: Exponent of the decay rate of second moments.
      epsilon_1: Added to squared gradients.
      epsilon_2: Smallest root mean square of a weight.
      clip_threshold: Root mean square above which an update is scaled down.
      momentum: Decay of a running mean of the updates that is applied in their place
        ([N] App. C: .9); 0 keeps none.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule,
        *,
        stacked: bool = False,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        momentum: float = 0.0,
        name: str = "adafactor",
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.stacked = stacked
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold
        self.momentum = momentum

    def build(self, variables) -> None:
        if self.built:
            return
        super().build(variables)
        self._rows, self._columns, self._means = [], [], []
        for variable in variables:
            shape = tuple(variable.shape)
            if self._is_factored(shape):
                rows, columns = shape[:-1], (*shape[:-2], shape[-1])
            else:
                rows, columns = shape, (1,)
            self._rows.append(self._slot(variable, rows, "row_moment"))
            self._columns.append(self._slot(variable, columns, "column_moment"))
            if self.momentum:
                self._means.append(self._slot(variable, shape, "mean_update"))

    def update_step(self, gradient, variable, learning_rate) -> None:
        """One Adafactor update of one variable (algorithm 4 of the paper)."""
        index = self._get_variable_index(variable)
        rows, columns = self._rows[index], self._columns[index]
        gradient = ops.cast(gradient, "float32")
        step = ops.cast(self.iterations + 1, "float32")
        decay = 1.0 - ops.power(step, self.beta_2_decay)
        squared = ops.square(gradient) + self.epsilon_1
        if self._is_factored(tuple(variable.shape)):
            row = _average(rows, ops.mean(squared, axis=-1), decay)
            column = _average(columns, ops.mean(squared, axis=-2), decay)
            self.assign(rows, row)
            self.assign(columns, column)
            row_share = row / ops.mean(row, axis=-1, keepdims=True)
            scale = ops.expand_dims(ops.rsqrt(row_share), -1) * ops.expand_dims(
                ops.rsqrt(column), -2
            )
        else:
            moment = _average(rows, squared, decay)
            self.assign(rows, moment)
            scale = ops.rsqrt(moment)
        update = gradient * scale
        update = update / ops.maximum(1.0, self._rms(update) / self.clip_threshold)
        rate = ops.cast(learning_rate, "float32") * ops.maximum(
            self.epsilon_2, self._rms(ops.cast(variable, "float32"))
        )
        update = rate * update
        if self.momentum:
            mean = self._means[index]
            update = _average(mean, update, self.momentum)
            self.assign(mean, update)
        self.assign_sub(variable, ops.cast(update, variable.dtype))

    def gradient_norms(self) -> np.ndarray:
        """Root of the running mean of each model's squared gradient norm.

        Read off the second moments; float64 ``[stack]``, ``[1]`` for one model.
        """
        total = np.zeros(1)
        for variable, moment in zip(self._trainable_variables, self._rows, strict=True):
            models = variable.shape[0] if self.stacked else 1
            moments = ops.convert_to_numpy(moment).astype(np.float64)
            # A row's moment is the mean over its columns.
            columns = int(np.prod(variable.shape)) // moments.size
            total = total + moments.reshape(models, -1).sum(axis=1) * columns
        return np.sqrt(total)

    def _slot(self, variable, shape: tuple[int, ...], name: str):
        return self.add_variable(shape, initializer="zeros", name=name)

    def _is_factored(self, shape: tuple[int, ...]) -> bool:
        return len(shape) - int(self.stacked) >= 2

    def _rms(self, x):
        """Root mean square over one model's share, broadcastable to ``x``."""
        axes = tuple(range(int(self.stacked), len(x.shape)))
        return ops.sqrt(ops.mean(ops.square(x), axis=axes, keepdims=True))

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "stacked": self.stacked,
            "beta_2_decay": self.beta_2_decay,
            "epsilon_1": self.epsilon_1,
            "epsilon_2": self.epsilon_2,
            "clip_threshold": self.clip_threshold,
            "momentum": self.momentum,
        }


def _average(old, new, decay):
    return decay * old + (1.0 - decay) * new
