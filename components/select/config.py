"""Configuration of the ``select`` step; imports nothing heavy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from components.engines import beam_runner
from components.ingest.sources.corpus import TextTask
from models.errors import FieldError

# The models of a contrastive score, by what they have learned from: the text to select
# from, and then trusted text, the same corrupted, or text of a domain.
NOISY = "noisy"
TRUSTED = "trusted"
CORRUPTED = "corrupted"
IN_DOMAIN = "in_domain"
BOTH = "both"
MODELS = "models.npz"  # a stack of them


@dataclasses.dataclass(frozen=True)
class Contrastive:
    """The score of Wang et al. (2018): what a model makes of a pair before and after
    it is fine-tuned on better text.

    One model of all tasks is trained on everything that ``ingest`` accepted, with
    the vocabulary and rows of the section ``tokenize``; then once more for a while on
    the trusted text, and, from the same beginning, on text of the domain. Pairs with a
    sentence of a test set are left out of either.

    Attributes:
      trusted: Task -> a small set of pairs that are surely translations, in any form
        of ``ingest.text``; for the noise score. Its test sets are not read.
      in_domain: Task -> text of the domain that matters, for the domain score. With
        both, the two scores are added up.
      against: Which model the noise score compares that of trusted text with: the
        ``noisy`` one, as Wang et al. do; one that is fine-tuned as long on the trusted
        text ``corrupted``; or the mean of ``both``.
      features: Whether the feature score is added, each in units of its spread.
      size: Name of the model's size (``polyscale plan`` lists them).
      steps: Training steps on the text to select from.
      tuning_steps: Training steps on the trusted text, and on that of the domain, at
        most.
      tuning_epochs: How often these steps may go through the smallest of those texts:
        little text is soon known by heart.
      batch_tokens: Target positions in a batch.
      learning_rate: Peak rate, as of ``train``.
      tuning_rate: The rate of fine-tuning.
      warmup_steps: Steps of linear warm-up to the peak.
    """

    trusted: Mapping[str, TextTask] = dataclasses.field(default_factory=dict)
    in_domain: Mapping[str, TextTask] = dataclasses.field(default_factory=dict)
    against: Literal["noisy", "corrupted", "both"] = "both"
    features: bool = True
    size: str = "167k"
    steps: int = 4000
    tuning_steps: int = 1000
    tuning_epochs: int = 5
    batch_tokens: int = 512
    learning_rate: float = 0.1
    tuning_rate: float = 0.05
    warmup_steps: int = 300

    def __post_init__(self) -> None:
        if not self.trusted and not self.in_domain:
            raise FieldError(
                "trusted",
                "missing; expected task: {source: ..., target: ...} for every task, "
                "or in_domain",
            )
        positive = "steps", "tuning_steps", "tuning_epochs", "batch_tokens"
        for name in (*positive, "warmup_steps"):
            if getattr(self, name) < 1:
                raise FieldError(name, f"{getattr(self, name)} must be at least 1")
        for name in ("learning_rate", "tuning_rate"):
            if not getattr(self, name) > 0:
                raise FieldError(name, f"{getattr(self, name):g} must be positive")
        if self.warmup_steps > self.steps:
            raise FieldError(
                "warmup_steps",
                f"{self.warmup_steps} is more than the {self.steps} steps",
            )

    @property
    def better_text(self) -> dict[str, Mapping[str, TextTask]]:
        """Name -> text of each fine-tuning that is asked for."""
        both = {TRUSTED: self.trusted, IN_DOMAIN: self.in_domain}
        return {name: text for name, text in both.items() if text}

    @property
    def tuned(self) -> tuple[str, ...]:
        """What the models are fine-tuned on, in the order of their stack."""
        corrupted = [CORRUPTED] if self.trusted and self.against != NOISY else []
        return (*self.better_text, *corrupted)


@dataclasses.dataclass(frozen=True)
class Config:
    """From clean text to the part of it that is most worth training on.

    Attributes:
      keep: Share of each task's training pairs that is kept, those with the best
        scores; one number, or task -> number.
      sample: Pairs of each task, at most, that the feature score is trained on.
      iterations: Of expectation maximisation of its lexical part.
      contrastive: Scores by translation models instead; the feature score where null.
      online: Whether what is kept is written best first, for ``train.anneal``: then
        ``keep`` only says what is never trained on.
      seed: Of the sample, of the corruption that the feature score learns to tell, and
        of the models.
      beam_options: Options for Beam; the runner is FnApiRunner unless named.
    """

    keep: float | Mapping[str, float] = 0.5
    sample: int = 100_000
    iterations: int = 5
    contrastive: Contrastive | None = None
    online: bool = False
    seed: int = 0
    beam_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shares = self.keep if isinstance(self.keep, Mapping) else {"": self.keep}
        for task, share in shares.items():
            if not 0 < share <= 1:
                field = f"keep.{task}" if task else "keep"
                raise FieldError(field, f"{share:g} must lie in (0, 1]")
        if self.sample < 100:
            raise FieldError("sample", f"{self.sample} must be at least 100")
        if not 1 <= self.iterations <= 100:
            raise FieldError("iterations", f"{self.iterations} must lie in [1, 100]")
        if not 0 <= self.seed < 2**31:
            raise FieldError("seed", f"{self.seed} must lie in [0, 2^31)")
        beam_runner.check(self.beam_options)

    def share(self, task: str) -> float:
        """Share of a task's pairs that is kept; all of a task that is not named."""
        if isinstance(self.keep, Mapping):
            return self.keep.get(task, 1.0)
        return self.keep
