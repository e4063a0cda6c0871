"""The models of the contrastive score: one of the noisy text, and what it becomes
when it is trained a while on better text.

They live beside the artifact, in a folder of their own, each with a manifest: to keep
another share of the same text trains nothing again.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components import ingest, manifest, tokenize, train
from components.select.config import Config, Contrastive
from components.select.layout import MODELS
from components.tensorflow_start import start_tensorflow
from components.text_shards import TRAIN
from components.tokenize.reader import load_index
from components.train.layout import WEIGHTS, load_record
from components.trial import Trial
from models.errors import UserError

log = logging.getLogger(__name__)

_COHORT = "select"
_CALL = 10  # steps of a call of the trainer's program


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes the models.

    Attributes:
      config: The step's configuration, with a contrastive part.
      tokenize: How the models to come see text.
      tasks: Directions such as ``en-de``.
      base: Folder that paths of text start from.
      folder: Where the models and all they need are kept.
    """

    config: Config
    tokenize: tokenize.Config
    tasks: tuple[str, ...]
    base: Path
    folder: Path

    @property
    def options(self) -> Contrastive:
        """The contrastive part of the configuration."""
        return self.config.contrastive

    @property
    def tokens(self) -> Path:
        """The text to select from, tokenised; with the vocabulary of the models."""
        return self.folder / "tokenize"

    def read_better_text(self) -> dict[str, Path]:
        """Name -> clean text of each fine-tuning: artifacts of ``ingest``."""
        found = {}
        for name, text in self.options.better_text.items():
            config = ingest.Config(
                source="text",
                text={task: _without_tests(text[task]) for task in self.tasks},
                test_sentences=1,  # it holds out some; the fewest
                leak="sentence",
                beam_options=self.config.beam_options,
            )
            found[name] = self.folder / name
            ingest.run(config, base=self.base, tasks=self.tasks, output=found[name])
        return found

    def make(self, ingested: Path) -> Path:
        """Trains what is missing.

        Args:
          ingested: The text to select from.

        Returns:
          The folder with `MODELS`, one checkpoint of a stack of models: of the noisy
          text first, then one for each name of `Contrastive.better_text`.
        """
        tokens = self.tokens
        self._tokenize(self.tokenize, ingested, tokens, self.base)
        noisy = self._train(tokens)
        better = {}
        from components.tokenize.vocabulary import FILE_NAME  # loads SentencePiece

        own = dataclasses.replace(self.tokenize, model=FILE_NAME)
        for name in self.options.better_text:
            better[name] = self.folder / f"tokenize-{name}"
            self._tokenize(own, self.folder / name, better[name], tokens)
        output = self.folder / "models"
        manifest.complete(
            "select-models",
            output,
            config={"contrastive": self._described(), "seed": self.config.seed},
            inputs={"noisy": noisy, **better},
            make=lambda directory: self._tune(noisy, better, directory),
        )
        return output

    def _tokenize(
        self, config: tokenize.Config, text: Path, output: Path, base: Path
    ) -> None:
        tokenize.run(config, ingest=text, tasks=self.tasks, output=output, base=base)

    def _train(self, tokens: Path) -> Path:
        """The folder of the trial that is the model of the noisy text."""
        index = load_index(tokens)
        shares = _shares(index, self.tasks)
        trial = Trial(_COHORT, self.options.size, shares, self.config.seed)
        config = self._training(self.options.steps, self.options.learning_rate)
        config = dataclasses.replace(config, warmup_steps=self.options.warmup_steps)
        output = self.folder / "train"
        train.run(config, trials=(trial,), tokens=tokens, output=output)
        record = load_record(output / trial.id)
        if record["status"] != "done":
            raise UserError(
                f"select: the model of the text failed: {record['reason']}; lower "
                "select.contrastive.learning_rate"
            )
        return output / trial.id

    def _training(self, steps: int, rate: float) -> train.Config:
        whole = -(-steps // _CALL) * _CALL
        return train.Config(
            sizes=(self.options.size,),
            mixtures=(1.0,),
            seeds=(self.config.seed,),
            steps=whole,
            warmup_steps=max(1, whole // 10),
            batch_tokens=self.options.batch_tokens,
            learning_rate=rate,
            steps_per_call=_CALL,
            evaluations=1,
            final_evaluations=1,
        )

    def _tune(
        self, noisy: Path, better: Mapping[str, Path], directory: Path
    ) -> Mapping[str, Any]:
        start_tensorflow()
        from components.select import tuning

        config = self._training(self.options.tuning_steps, self.options.tuning_rate)
        start = noisy / WEIGHTS
        texts = [
            tuning.BetterText(tokens, _shares(load_index(tokens), self.tasks))
            for tokens in better.values()
        ]
        log.info("select: fine-tuning on text that is %s", " and ".join(better))
        tuned = tuning.tune(config, start, texts, directory)
        stack = [tuning.read(start), *tuned]
        tuning.write(directory / MODELS, stack, start)
        return {"models": len(stack), "steps": config.steps}

    def _described(self) -> dict[str, Any]:
        """What the models depend on beside their text."""
        described = manifest.plain(self.options)
        return {
            name: value
            for name, value in described.items()
            if name not in ("trusted", "in_domain")
        }


def _without_tests(text: Any) -> Any:
    return dataclasses.replace(text, test_sets={})


def _shares(
    index: Mapping[str, Any], tasks: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """Every task with its share of the training pairs; the shares sum to 1."""
    found = [index["tasks"][task]["splits"][TRAIN]["examples"] for task in tasks]
    shares = [round(count / sum(found), 6) for count in found]
    shares[-1] = round(1 - sum(shares[:-1]), 6)
    return tuple(zip(tasks, shares, strict=True))
