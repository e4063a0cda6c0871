"""COMET (Rei et al. 2022), where the package of its authors is installed.

It brings its own engine, whose requirements rarely agree with TensorFlow's: then score
the files in ``hypotheses/`` in an environment of their own.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from components.evaluate.hypotheses import Translation
from components.evaluate.scores import Scores, mean_scores
from models.errors import UserError

_BATCH = 16


class Comet:
    """A COMET model as a metric of `components.evaluate.quality`.

    Args:
      model: Name of a published model, which is downloaded, or a checkpoint's path.

    Raises:
      UserError: COMET is not installed, or the model cannot be had.
    """

    name = column = "comet"

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

    def score(
        self, translation: Translation, parts: Mapping[str, np.ndarray]
    ) -> Scores:
        """Means over sentences; the best of several references counts."""
        text = translation.text
        asked = [
            (i, {"src": source, "mt": hypothesis, "ref": reference})
            for i, (source, hypothesis, references) in enumerate(
                zip(text.sources, translation.hypotheses, text.references, strict=True)
            )
            for reference in references
        ]
        found = self._model.predict(
            [record for _, record in asked], batch_size=_BATCH, gpus=0
        )
        best = np.full(len(text.sources), -np.inf)
        np.maximum.at(best, [i for i, _ in asked], np.asarray(found.scores))
        return mean_scores(best, parts, self.signature)

    def problem(self, language: str) -> str:
        """Nothing: it has one tokenizer for all languages."""
        return ""
