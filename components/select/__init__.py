"""``select``: clean text to the part of it that is most worth training on."""

from __future__ import annotations

from pathlib import Path

from components.artifacts.manifest import Manifest
from components.select.config import Config
from components.tokenize.config import Config as TokenizeConfig

__all__ = ["Config", "run"]


def run(
    config: Config,
    *,
    ingest: Path,
    tasks: tuple[str, ...],
    output: Path,
    base: Path = Path(),
    tokenize: TokenizeConfig | None = None,
) -> Manifest:
    """Scores every training pair and keeps the best share of each task.

    Writes ``<task>/train-SSSSS-of-NNNNN.jsonl.gz`` with what is kept, the test sets
    as they are, ``<task>/scores-SSSSS-of-NNNNN.npy`` with a row for every pair of
    that shard of ``ingest``, and ``counts.json``. ``tokenize`` reads the folder as
    it reads that of ``ingest``.

    Args:
      config: The step's configuration.
      ingest: The artifact of ``ingest``.
      tasks: Directions such as ``en-de``.
      output: Folder of the artifact; the models of a contrastive score go beside it,
        to `.<name>-models`, and stay there.
      base: Folder that paths of trusted and in-domain text start from.
      tokenize: How those models see text: the section of the experiment.

    Returns:
      The artifact's manifest; its counts are those of ``counts.json``.

    Raises:
      UserError: A task has no text, or too little to learn a score from.
    """
    from components.select import step

    return step.run(
        config,
        ingest=ingest,
        tasks=tasks,
        output=output,
        base=base,
        tokenize=tokenize or TokenizeConfig(),
    )
