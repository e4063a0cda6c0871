"""evaluate: trained models -> the metrics table: exact losses, and on request
translations and how good they are."""

from __future__ import annotations

from pathlib import Path

from components.artifacts import manifest, metrics_table
from components.artifacts.manifest import Manifest
from components.artifacts.trial_folder import TrialRecord
from components.engines.tensorflow_start import start_tensorflow
from components.evaluate.config import Config
from components.evaluate.layout import Folders
from models.errors import UserError

__all__ = ["Config", "run"]


def run(
    config: Config,
    *,
    train: Path,
    tokens: Path,
    output: Path,
    ingest: Path | None = None,
    base: Path = Path(),
) -> Manifest:
    """Scores every trial of a sweep.

    Args:
      config: How.
      train: An artifact of ``train``.
      tokens: The artifact of ``tokenize`` that it was trained on.
      output: ``metrics.csv``, ``irreducible.json``, one file of sentence losses a
        trial and, with ``config.quality``, ``quality.json`` and the translations of
        every trial go here.
      ingest: The artifact of ``ingest`` with the text of the test sets; only read
        with ``config.quality``.
      base: Folder that paths in the configuration start from.

    Returns:
      The manifest of the artifact.

    Raises:
      UserError: The models were trained on other tokens, or a test set is missing.
    """
    inputs = {"train": train, "tokens": tokens}
    if config.quality is not None:
        if ingest is None:
            raise UserError("evaluate.quality: needs the text that ingest wrote")
        inputs["ingest"] = ingest

    def make(directory: Path) -> dict[str, int]:
        start_tensorflow()
        from components.evaluate import losses, quality

        folders = Folders(
            train=train,
            tokens=tokens,
            ingest=ingest,
            output=directory,
            translations=output.with_name(f".{output.name}.translations"),
            base=base,
        )
        trials = manifest.load(train).config["trials"]
        rows = losses.measure(folders, trials, config.stack)
        if config.quality is not None:
            measured = quality.measure(config.quality, folders, trials)
            rows = measured.add_to(rows, curve=config.quality.curve)
        metrics_table.save(directory / metrics_table.FILE_NAME, rows)
        records = [TrialRecord.load(train / name) for name in trials]
        failed = sum(record.status == "failed" for record in records)
        return {"trials": len(trials), "failed": failed, "rows": len(rows)}

    return manifest.complete(
        "evaluate", output, config=config, inputs=inputs, make=make
    )
