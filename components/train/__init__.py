"""train: weighted mixtures and sizes -> trained models and learning curves."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.artifacts.trial import Trial
from components.train.config import Config

__all__ = ["Config", "run"]


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
