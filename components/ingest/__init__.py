"""``ingest``: any source of parallel text to clean, leak-free shards."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.ingest.config import Config

__all__ = ["Config", "run"]


def run(
    config: Config, *, base: Path, tasks: tuple[str, ...], output: Path
) -> Manifest:
    """Reads, cleans, deduplicates and splits the parallel text of every task.

    Writes ``<task>/<split>-SSSSS-of-NNNNN.jsonl.gz``, ``dead_letters/`` and
    ``counts.json``. The same text and configuration give the same bytes, whatever
    the order of files or the number of workers.

    Args:
      config: The step's configuration.
      base: Folder that relative paths in ``config.text`` start from.
      tasks: Directions such as ``en-de``.
      output: Folder of the artifact.

    Returns:
      The artifact's manifest; its counts are those of ``counts.json``.

    Raises:
      UserError: A file is missing, misaligned, empty or damaged, or too little
        text is left.
    """
    from components.ingest import step

    return step.run(config, base=base, tasks=tasks, output=output)
