"""Adafactor and the inverse-square-root schedule, for one model or a stack."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any

# Variables of one shape are updated as one, unless they are larger than this: up to
# here launching (and tracing, and compiling) a hundred small operations a variable
# costs more than copying its gradient; beyond, the copy costs time and memory.
TOGETHER = 2**18


class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to ``peak``, then ``peak * sqrt(warmup_steps / step)``.

    [M] section 3.1, [N] App. C. Step 0 is the first update, and its rate is
    ``peak / warmup_steps``.
    """

    def __init__(self, peak: float, warmup_steps: int):
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step: Tensor) -> Tensor:
        step = ops.cast(step, "float32") + 1.0
        warmup = float(max(self.warmup_steps, 1))
        decay = ops.sqrt(warmup / ops.maximum(step, warmup))
        return self.peak * ops.minimum(step / warmup, 1.0) * decay

    def get_config(self) -> dict:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


@dataclasses.dataclass
class _Group:
    """Variables of one shape and what is kept of them, on a leading axis.

    Attributes:
      members: Places of the variables in the list that the optimizer was built on.
      factored: Whether second moments are kept as rows and columns.
      rows, columns: Second moments; unfactored ones are all in ``rows``.
      mean_update: Running mean of the updates, with momentum.
      average: Running average of the weights, where asked for.
    """

    members: list[int]
    factored: bool
    rows: keras.Variable
    columns: keras.Variable | None = None
    mean_update: keras.Variable | None = None
    average: keras.Variable | None = None


class Adafactor(keras.optimizers.Optimizer):
    """Adafactor (Shazeer & Stern 2018) that keeps the models of a stack apart.

    Keras's own Adafactor takes its root mean squares over a whole variable; here
    they are taken over one model's share of it, and a vector stays a vector
    although the stack makes it a matrix. For a single model the two agree.
    Small variables of one shape are updated together, as one array.

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
      ema_decay: Decay of a running average of the weights, see `averages`; 0
        keeps none. The average starts at the first weights and warms up: its decay
        is at most ``(1 + step) / (10 + step)``, so the beginning is soon forgotten.
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
        ema_decay: float = 0.0,
        name: str = "adafactor",
    ):
        super().__init__(learning_rate=learning_rate, name=name)
        self.stacked = stacked
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold
        self.momentum = momentum
        self.ema_decay = ema_decay

    def build(self, variables: Sequence) -> None:
        if self.built:
            return
        super().build(variables)
        together: dict[tuple, list[int]] = {}
        for place, variable in enumerate(variables):
            shape = tuple(variable.shape)
            key = shape if math.prod(shape) <= TOGETHER else (place, shape)
            together.setdefault(key, []).append(place)
        self._groups = []
        for members in together.values():
            of_one_shape = [variables[place] for place in members]
            self._groups.append(self._group(of_one_shape, members))

    def _group(self, variables: Sequence, members: list[int]) -> _Group:
        shape = (len(members), *variables[0].shape)
        factored = len(shape) - self._lead >= 2
        group = _Group(
            members=members,
            factored=factored,
            rows=self._slot(shape[:-1] if factored else shape, "row_moment"),
        )
        if factored:
            group.columns = self._slot((*shape[:-2], shape[-1]), "column_moment")
        if self.momentum:
            group.mean_update = self._slot(shape, "mean_update")
        if self.ema_decay:
            group.average = self._slot(shape, "average")
            group.average.assign(_together(variables))
        return group

    def reset(self) -> None:
        """Forgets all updates; averages start at the weights as they now are."""
        self.iterations.assign(0)
        for group in self._groups:
            for slot in (group.rows, group.columns, group.mean_update):
                if slot is not None:
                    slot.assign(ops.zeros_like(slot))
        for group in self._groups:
            if group.average is not None:
                members = [self._trainable_variables[i] for i in group.members]
                group.average.assign(_together(members))

    @property
    def _lead(self) -> int:
        """Leading axes along which updates are independent: group and stack."""
        return 1 + int(self.stacked)

    def apply(
        self, grads: Sequence, trainable_variables: Sequence | None = None
    ) -> None:
        """One update of all variables, on one device.

        Args:
          grads: One for each variable, of its shape.
          trainable_variables: Those that the optimizer was built on, in that order.
        """
        variables = trainable_variables or self._trainable_variables
        self._check(grads, variables)
        self.update(grads, variables)

    def _check(self, gradients: Sequence, variables: Sequence) -> None:
        if not len(gradients) == len(variables) == len(self._trainable_variables):
            raise ValueError(
                f"{len(gradients)} gradients for the "
                f"{len(self._trainable_variables)} variables of the optimizer: each "
                "must have one"
            )

    def update(self, gradients: Sequence, variables: Sequence) -> None:
        """One Adafactor update of all variables; arguments as of `apply`."""
        step = ops.cast(self.iterations + 1, "float32")
        rate = ops.cast(self.learning_rate, "float32")
        decay = 1.0 - ops.power(step, self.beta_2_decay)
        keep = ops.minimum(self.ema_decay, (1.0 + step) / (10.0 + step))
        for group in self._groups:
            members = [variables[place] for place in group.members]
            gradient = _together([gradients[place] for place in group.members])
            weight = _together(members)
            scale = self._scale(group, ops.square(gradient) + self.epsilon_1, decay)
            update = gradient * scale
            update = update / ops.maximum(1.0, self._rms(update) / self.clip_threshold)
            update = update * (rate * ops.maximum(self.epsilon_2, self._rms(weight)))
            if group.mean_update is not None:
                update = _average(group.mean_update, update, self.momentum)
                self.assign(group.mean_update, update)
            weight = weight - update
            for variable, value in zip(members, _apart(weight), strict=True):
                self.assign(variable, ops.cast(value, variable.dtype))
            if group.average is not None:
                self.assign(group.average, _average(group.average, weight, keep))
        self.assign_add(self.iterations, 1)

    def _scale(self, group: _Group, squared, decay):
        """The factor of each gradient (algorithm 4 of the paper); moves the moments."""
        if not group.factored:
            moment = _average(group.rows, squared, decay)
            self.assign(group.rows, moment)
            return ops.rsqrt(moment)
        row = _average(group.rows, ops.mean(squared, axis=-1), decay)
        column = _average(group.columns, ops.mean(squared, axis=-2), decay)
        self.assign(group.rows, row)
        self.assign(group.columns, column)
        row_share = row / ops.mean(row, axis=-1, keepdims=True)
        row_factor = ops.expand_dims(ops.rsqrt(row_share), -1)
        return row_factor * ops.expand_dims(ops.rsqrt(column), -2)

    def averages(self) -> list[Tensor]:
        """The running average of each variable, in the order of the variables."""
        found: dict[int, Tensor] = {}
        for group in self._groups:
            values = _apart(ops.convert_to_tensor(group.average))
            found.update(zip(group.members, values, strict=True))
        return [found[place] for place in range(len(found))]

    def gradient_norms(self) -> np.ndarray:
        """Root of the running mean of each model's squared gradient norm.

        Read off the second moments; float64 ``[stack]``, ``[1]`` for one model.
        """
        total = np.zeros(1)
        for group in self._groups:
            variable = self._trainable_variables[group.members[0]]
            models = variable.shape[0] if self.stacked else 1
            moments = ops.convert_to_numpy(group.rows).astype(np.float64)
            # A row's moment is the mean over its columns.
            columns = variable.shape[-1] if group.factored else 1
            each = moments.reshape(len(group.members), models, -1).sum(axis=(0, 2))
            total = total + each * columns
        return np.sqrt(total)

    def _slot(self, shape: tuple[int, ...], name: str) -> keras.Variable:
        name = f"group_{len(self._groups)}_{name}"
        return self.add_variable(shape, initializer="zeros", name=name)

    def _rms(self, x):
        """Root mean square over one model's share, broadcastable to ``x``."""
        # Column by column first: one sum to a single number is neither split among
        # threads nor vectorised, by Eigen or by XLA.
        means = ops.square(x)
        for axis in range(-2 if len(x.shape) - self._lead > 1 else -1, 0):
            means = ops.mean(means, axis=axis, keepdims=True)
        return ops.sqrt(means)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "stacked": self.stacked,
            "beta_2_decay": self.beta_2_decay,
            "epsilon_1": self.epsilon_1,
            "epsilon_2": self.epsilon_2,
            "clip_threshold": self.clip_threshold,
            "momentum": self.momentum,
            "ema_decay": self.ema_decay,
        }


def _together(arrays: Sequence):
    """float32 ``[members, ...]``."""
    if len(arrays) == 1:
        return ops.expand_dims(ops.cast(arrays[0], "float32"), 0)
    return ops.stack([ops.cast(array, "float32") for array in arrays])


def _apart(together) -> list:
    if together.shape[0] == 1:
        return [ops.squeeze(together, 0)]
    return ops.unstack(together, together.shape[0])


def _average(old, new, decay):
    return decay * old + (1.0 - decay) * new
