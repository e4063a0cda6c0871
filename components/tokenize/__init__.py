"""``tokenize``: clean text to one vocabulary and packed rows of token ids."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.tokenize.config import Config

__all__ = ["Config", "run"]


def run(
    config: Config,
    *,
    ingest: Path,
    tasks: tuple[str, ...],
    output: Path,
    base: Path = Path(),
) -> Manifest:
    """Trains the vocabulary, tokenises and packs every split of every task.

    Writes ``vocabulary.model``, ``<task>/<split>-SSSSS-of-NNNNN.npy``, ``index.json``
    (`components.artifacts.token_index`) and, for pairs longer than a row,
    ``dead_letters/``. Read the rows with `components.artifacts.token_rows.load_rows`.

    Args:
      config: The step's configuration.
      ingest: The artifact of ``ingest``.
      tasks: Directions such as ``en-de``.
      output: Folder of the artifact.
      base: Folder that the path of an existing model starts from.

    Returns:
      The artifact's manifest; its counts are the tasks of ``index.json``.

    Raises:
      UserError: The vocabulary does not suit the text, or nothing fits in a row.
    """
    from components.tokenize import step

    return step.run(config, ingest=ingest, tasks=tasks, output=output, base=base)
