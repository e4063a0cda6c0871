"""What a sweep trains, and how."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from models.errors import FieldError, UserError
from models.nmt import families

# Newest checkpoints kept while a group is in progress: should one be damaged, the one
# before is there.
KEPT_CHECKPOINTS = 2


@dataclasses.dataclass(frozen=True)
class Anneal:
    """Online data selection: less and less of each task's rows, the best ones.

    At step t of T, rows are drawn from the best share ``keep ** min(1, t / (by T))``
    of each task's: all of them at first, exponentially fewer, as in Wang et al.
    (2018). The rows have to be in the order of their scores (``select.online``).

    Attributes:
      keep: The share in the end.
      by: Share of the training steps after which it is reached.
    """

    keep: float = 0.5
    by: float = 0.5

    def __post_init__(self) -> None:
        for field in ("keep", "by"):
            value = getattr(self, field)
            if not 0 < value <= 1:
                raise FieldError(field, f"got {value}, expected 0 < {field} <= 1")


@dataclasses.dataclass(frozen=True)
class Config:
    """Training of every (size x mixture x seed).

    Attributes:
      sizes: Names of model sizes (``polyscale plan`` lists them); a family of them by
        one word, ``encoder-scaled``, stands for its members.
      mixtures: Weights of the tasks: a mapping, or with two tasks the weight of
        the first. A weight is a share of training examples ([M] section 3.1).
      seeds: One trial a seed; a seed sets the initialisation and the data order.
      steps: Training steps of a trial.
      steps_by_size: Exceptions, size -> steps ([M] trains models of 500M and more
        for 1M steps instead of 500k).
      share_of: What a weight is a share of: training ``examples``, as in [M], or
        ``target_tokens``.
      anneal: Online selection of each task's best rows; ``null`` draws from all.
      batch_tokens: Target positions in the batch of one trial.
      micro_batch_tokens: Most target positions of one trial that one device holds
        at once; a larger batch is gone through in parts, whose gradients are
        added up. ``null`` takes the batch whole.
      learning_rate: Peak rate of the inverse-square-root schedule, relative to the
        root mean square of each weight (Adafactor).
      warmup_steps: Steps of linear warm-up to the peak.
      momentum: Decay of Adafactor's running mean of updates; 0 in [M], .9 in [N].
      dropout: Share of the residual branches, feed-forward activations and attention
        weights that is dropped; .1 in [N] App. C.
      label_smoothing: Share of the training targets spread over the vocabulary; .1
        in [N] App. C. Test losses are never smoothed.
      ema_decay: Decay of the running average of the weights that is evaluated
        and kept; 0 evaluates the weights themselves, as the papers do.
      evaluations: Evaluations on the learning curve up to the last tenth of the
        steps, evenly spaced in log(step), two a doubling.
      final_evaluations: Evaluations within the last tenth; the final loss is the
        median over them ([N] section 2.1).
      stack: Most trials of one size that train side by side as one program.
      steps_per_execution: Steps that the device runs between two returns to Python.
      checkpoint_seconds: Least time between two checkpoints of a group in progress,
        longer where one takes more than a fiftieth of it; 0 saves at every return
        from the accelerator.
      keep_weights: Whether the weights of every evaluation are kept, so that the
        test sets can be translated with them (``evaluate.quality.curve``).
      strategy: ``default`` (one device), ``mirrored``, ``multi_worker`` or ``tpu``.
      precision: Keras dtype policy.
      jit: Whether XLA compiles the step: ``on``, ``off``, or ``auto``, which compiles
        on a GPU; see `components.engines.strategy.compiles_step`.
    """

    sizes: tuple[str, ...]
    mixtures: tuple[float | Mapping[str, float], ...]
    seeds: tuple[int, ...] = (0,)
    steps: int = 4000
    steps_by_size: Mapping[str, int] = dataclasses.field(default_factory=dict)
    share_of: Literal["examples", "target_tokens"] = "examples"
    anneal: Anneal | None = None
    batch_tokens: int = 512
    micro_batch_tokens: int | None = None
    learning_rate: float = 0.1
    warmup_steps: int = 300
    momentum: float = 0.0
    dropout: float = 0.0
    label_smoothing: float = 0.0
    ema_decay: float = 0.0
    evaluations: int = 12
    final_evaluations: int = 4
    stack: int = 4
    steps_per_execution: int = 10
    checkpoint_seconds: int = 20
    keep_weights: bool = False
    strategy: Literal["default", "mirrored", "multi_worker", "tpu"] = "default"
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    jit: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "sizes", families.expand(self.sizes))
        except UserError as error:
            raise FieldError("sizes", str(error)) from None
        positive = (
            "steps",
            "batch_tokens",
            "warmup_steps",
            "evaluations",
            "final_evaluations",
            "stack",
            "steps_per_execution",
        )
        for field in positive:
            _at_least(field, getattr(self, field), 1)
        for size, steps in self.steps_by_size.items():
            _at_least(f"steps_by_size.{size}", steps, 1)
        _at_least("checkpoint_seconds", self.checkpoint_seconds, 0)
        if self.micro_batch_tokens is not None:
            _at_least("micro_batch_tokens", self.micro_batch_tokens, 1)
        if not self.learning_rate > 0:
            raise FieldError("learning_rate", f"got {self.learning_rate}, expected > 0")
        for field in ("momentum", "dropout", "label_smoothing", "ema_decay"):
            value = getattr(self, field)
            if not 0 <= value < 1:
                raise FieldError(field, f"got {value}, expected 0 <= {field} < 1")
        if self.jit == "on" and self.strategy in ("mirrored", "multi_worker"):
            raise FieldError(
                "jit",
                f"on cannot be had with strategy: {self.strategy}, whose variables "
                "live on several devices; expected auto or off",
            )
        for size in self.sizes:
            self._check_steps(self.steps_of(size))

    def _check_steps(self, steps: int) -> None:
        whole = self.steps_per_execution
        if steps % whole:
            raise FieldError(
                "steps",
                f"{steps} is not a multiple of steps_per_execution = {whole}; try "
                f"{steps - steps % whole}",
            )
        if self.warmup_steps > steps:
            raise FieldError(
                "warmup_steps", f"{self.warmup_steps} is more than the {steps} steps"
            )

    def steps_of(self, size: str) -> int:
        """Training steps of a trial of that size."""
        return self.steps_by_size.get(size, self.steps)


def _at_least(field: str, value: int, least: int) -> None:
    if value < least:
        raise FieldError(field, f"got {value}, expected at least {least}")
