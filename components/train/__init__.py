"""train: weighted mixtures and sizes -> trained models and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from components.artifacts.manifest import Manifest
from components.artifacts.trial import Trial
from components.train.config import Config

__all__ = ["Config", "fine_tune", "run"]


def run(
    config: Config,
    *,
    trials: tuple[Trial, ...],
    tokens: Path,
    output: Path,
    jobs: int = 1,
) -> Manifest:
    """Trains every trial that is not trained yet.

    Args:
      config: How.
      trials: Which.
      tokens: An artifact of ``tokenize``.
      output: One folder a trial goes here.
      jobs: Processes that train at once.

    Returns:
      The manifest of the sweep.

    Raises:
      UserError: What is asked cannot be trained, or cannot be written.
      Preempted: SIGTERM came; what was trained so far is saved.
    """
    from components.train.sweep import run_sweep

    return run_sweep(config, trials=trials, tokens=tokens, output=output, jobs=jobs)


def fine_tune(
    config: Config,
    *,
    start: Path,
    texts: Sequence[tuple[Path, Sequence[tuple[str, float]]]],
    output: Path,
) -> None:
    """Trains a model further on each of some texts, side by side as one stack.

    Args:
      config: How, and how long; with one seed.
      start: Checkpoint of a single model.
      texts: Of each, an artifact of ``tokenize`` with the model's vocabulary, and
        every task with its share of the training pairs.
      output: Checkpoint of a stack: the model as it was, then one for each text.
    """
    from components.train import fine_tuning

    fine_tuning.fine_tune(config, start, texts, output)
