"""evaluate: trained models -> the metrics table, one exact loss a test set."""

from __future__ import annotations

from pathlib import Path

from components import manifest
from components.evaluate.config import Config
from components.manifest import Manifest
from components.tensorflow_start import start_tensorflow

__all__ = ["Config", "run"]


def run(config: Config, *, train: Path, tokens: Path, output: Path) -> Manifest:
    """Scores every trial of a sweep.

    Args:
      config: How.
      train: An artifact of ``train``.
      tokens: The artifact of ``tokenize`` that it was trained on.
      output: ``metrics.csv``, ``irreducible.json`` and one file of sentence losses
        a trial go here.

    Returns:
      The manifest of the artifact.
    """

    def make(directory: Path) -> dict[str, int]:
        start_tensorflow()
        from components.evaluate.step import evaluate_all

        return evaluate_all(config, train=train, tokens=tokens, directory=directory)

    return manifest.complete(
        "evaluate",
        output,
        config=config,
        inputs={"train": train, "tokens": tokens},
        make=make,
    )
