"""COMET (Rei et al. 2022), where the package of its authors is installed.

It brings its own engine, whose requirements rarely agree with TensorFlow's: then score
the files in ``hypotheses/`` in an environment of their own.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.evaluate.metric import SentenceMetric
from models.errors import UserError

_BATCH = 16


class Comet(SentenceMetric):
    """A COMET model as a metric of `components.evaluate.quality`.

    Args:
      model: Name of a published model, which is downloaded, or a checkpoint's path.

    Raises:
      UserError: COMET is not installed, or the model cannot be had.
    """

    name = "comet"

    def __init__(self, model: str):
        if importlib.util.find_spec("comet") is None:
            raise UserError("not installed; pip install unbabel-comet")
        from comet import download_model, load_from_checkpoint

        try:
            path = model if Path(model).is_file() else download_model(model)
            self._model = load_from_checkpoint(path)
        except (OSError, KeyError, ValueError) as error:
            raise UserError(f"{model} cannot be loaded: {error}") from None
        version = importlib.metadata.version("unbabel-comet")
        self.signature = f"model:{model}|refs:max|version:{version}"

    def score_triples(self, triples: Sequence[tuple[str, str, str]]) -> np.ndarray:
        """See `SentenceMetric`."""
        records = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, reference, hypothesis in triples
        ]
        found = self._model.predict(records, batch_size=_BATCH, gpus=0)
        return np.asarray(found.scores)
