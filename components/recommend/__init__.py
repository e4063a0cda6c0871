"""recommend: laws -> the trade-off frontier and weights to train with."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.recommend.config import Config

__all__ = ["Config", "run"]


def run(config: Config, *, laws: Path, output: Path) -> Manifest:
    """Writes ``frontier.csv`` and ``recommendation.json``.

    Args:
      config: What is asked.
      laws: Law file, or the folder that ``fit`` made.
      output: Folder for the two files.

    Raises:
      UserError: The laws cannot tell a trade-off, or the question names a task
        they do not know.
    """
    from components.recommend.decision import decide

    return decide(config, laws=laws, output=output)
