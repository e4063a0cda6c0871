"""The models of the contrastive score: one of the noisy text, and what it becomes
when it is trained a while on better text.

They live beside the artifact, in a folder of their own, each with a manifest: to keep
another share of the same text trains nothing again.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components import ingest, tokenize, train
from components.artifacts import manifest
from components.artifacts.text_shards import TRAIN, read_shard, split_shards, splits
from components.artifacts.token_index import VOCABULARY, TokenIndex
from components.artifacts.trial import Trial
from components.artifacts.trial_folder import WEIGHTS, TrialRecord
from components.engines.tensorflow_start import start_tensorflow
from components.ingest.config import TextTestSet
from components.ingest.sources.corpus import Columns
from components.select.config import (
    CORRUPTED,
    IN_DOMAIN,
    MODELS,
    TRUSTED,
    Config,
    Contrastive,
)
from components.select.corruption import write_corrupted
from components.select.feature_score import FeatureScores
from components.select.sampling import sample
from components.tokenize import Config as TokenizeConfig
from models.errors import UserError

if TYPE_CHECKING:
    from components.select.contrastive_score import CombinedScore, ContrastiveScore

log = logging.getLogger(__name__)

_COHORT = "select"
# Sentences of better text that ``ingest`` holds out and nobody needs: the fewest, but
# not one alone, which may be longer than a row of ``tokenize``.
_HELD_OUT = 3
_COLUMNS = Columns("source", "target")
_MEASURED = 2000  # pairs by which the spread of a score is known well enough
_CALL = 10  # steps of a call of the trainer's program


@dataclasses.dataclass(frozen=True)
class ScoringModels:
    """Makes the models of the contrastive score, and the scorers with them.

    Attributes:
      config: The step's configuration, with a contrastive part.
      tokenize: How the models to come see text.
      tasks: Directions such as ``en-de``.
      base: Folder that paths of text start from.
      folder: Where the models and all they need are kept.
    """

    config: Config
    tokenize: TokenizeConfig
    tasks: tuple[str, ...]
    base: Path
    folder: Path

    @property
    def options(self) -> Contrastive:
        """The contrastive part of the configuration."""
        if self.config.contrastive is None:
            raise ValueError("the configuration has no contrastive part")
        return self.config.contrastive

    @property
    def tokens(self) -> Path:
        """The text to select from, tokenised; with the vocabulary of the models."""
        return self.folder / "tokenize"

    def read_better_text(self, ingested: Path) -> dict[str, Path]:
        """Name -> clean text of each fine-tuning: artifacts of ``ingest``.

        Args:
          ingested: The text to select from, whose test sets none of them may show.
        """
        artifacts = {}
        tests = {task: self._test_sets(ingested, task) for task in self.tasks}
        for name, text in self.options.better_text.items():
            config = ingest.Config(
                source="text",
                text={
                    task: dataclasses.replace(text[task], test_sets=tests[task])
                    for task in self.tasks
                },
                test_sentences=_HELD_OUT,
                beam_options=self.config.beam_options,
            )
            artifacts[name] = self.folder / name
            made = ingest.run(
                config, base=self.base, tasks=self.tasks, output=artifacts[name]
            )
            _tell_leaks(name, artifacts[name], made.counts)
        return artifacts

    def _test_sets(self, ingested: Path, task: str) -> dict[str, TextTestSet]:
        """The test sets of an artifact of ``ingest`` as test sets of another, which
        then keeps their sentences out of its text."""
        test_sets = {}
        folder = self.folder / "tests" / task
        folder.mkdir(parents=True, exist_ok=True)
        for split in splits(ingested / task):
            if split != TRAIN:
                (path,) = split_shards(ingested / task, split)
                copy = folder / f"{split}.jsonl"
                lines = (
                    json.dumps(r, ensure_ascii=False) for r in _all_references(path)
                )
                manifest.write_atomically(copy, "".join(f"{line}\n" for line in lines))
                # Relative, so that a run that is moved is the same run.
                files = os.path.relpath(copy.absolute(), self.base.absolute())
                test_sets[f"of_{split}"] = TextTestSet(files=files, columns=_COLUMNS)
        return test_sets

    @property
    def models(self) -> Path:
        """The folder with `MODELS`, one checkpoint of a stack of models: of the noisy
        text first, then one for each name of `Contrastive.tuned`."""
        return self.folder / "models"

    def scorer(
        self, task: str, shards: Sequence[Path]
    ) -> ContrastiveScore | CombinedScore:
        """See `components.select.graph.Scorers`; `make` comes first."""
        # Loads SentencePiece.
        from components.select.contrastive_score import ContrastiveScore, combine
        from components.tokenize.vocabulary import target_tags

        contrast = ContrastiveScore(
            task,
            target_tags(self.tasks)[task],
            self.models,
            manifest.load(self.models).key,
            self.options.tuned,
            self.options.against,
            (self.tokens / VOCABULARY).read_bytes(),
            self.tokenize,
        )
        if not self.options.features:
            return contrast
        features = FeatureScores(self.config).scorer(task, shards)
        pairs = sample(shards, _MEASURED, self.config.seed)
        return combine((contrast, features), *pairs)

    def make(self, ingested: Path) -> None:
        """Trains what is missing, for the text to select from."""
        tokens = self.tokens
        self._tokenize(self.tokenize, ingested, tokens, self.base)
        noisy = self._train(tokens)
        better = {}
        same_vocabulary = dataclasses.replace(self.tokenize, model=VOCABULARY)
        for name in self.options.tuned:
            if name == CORRUPTED:
                source, output = self.folder / TRUSTED, self.folder / CORRUPTED
                write_corrupted(source, self.tasks, self.config.seed, output)
            better[name] = self.folder / f"tokenize-{name}"
            self._tokenize(same_vocabulary, self.folder / name, better[name], tokens)
        manifest.complete(
            "select-models",
            self.models,
            config={"contrastive": self._described(), "seed": self.config.seed},
            inputs={"noisy": noisy, **better},
            make=lambda directory: self._tune(noisy, better, directory),
        )

    def _tokenize(
        self, config: TokenizeConfig, text: Path, output: Path, base: Path
    ) -> None:
        tokenize.run(config, ingest=text, tasks=self.tasks, output=output, base=base)

    def _train(self, tokens: Path) -> Path:
        """The folder of the trial that is the model of the noisy text."""
        trial = Trial(
            _COHORT, self.options.size, self._shares(tokens), self.config.seed
        )
        config = self._training(self.options.steps, self.options.learning_rate)
        config = dataclasses.replace(config, warmup_steps=self.options.warmup_steps)
        output = self.folder / "train"
        train.run(config, trials=(trial,), tokens=tokens, output=output)
        record = TrialRecord.load(output / trial.id)
        if record.status != "done":
            raise UserError(
                f"select: the model of the text failed: {record.reason}; lower "
                "select.contrastive.learning_rate"
            )
        return output / trial.id

    def _shares(self, tokens: Path) -> tuple[tuple[str, float], ...]:
        """Every task with its share of the training pairs; the shares sum to 1."""
        index = TokenIndex.load(tokens)
        pairs = [index.tasks[task].splits[TRAIN].examples for task in self.tasks]
        shares = [round(count / sum(pairs), 6) for count in pairs]
        shares[-1] = round(1 - sum(shares[:-1]), 6)
        return tuple(zip(self.tasks, shares, strict=True))

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
            steps_per_execution=_CALL,
            evaluations=1,
            final_evaluations=1,
        )

    def _tune(
        self, noisy: Path, better: Mapping[str, Path], directory: Path
    ) -> Mapping[str, Any]:
        start_tensorflow()
        config = self._training(self._tuning_steps(better), self.options.tuning_rate)
        texts = [(tokens, self._shares(tokens)) for tokens in better.values()]
        log.info("select: fine-tuning on text that is %s", " and ".join(better))
        start, output = noisy / WEIGHTS, directory / MODELS
        train.fine_tune(config, start=start, texts=texts, output=output)
        return {"models": 1 + len(texts), "steps": config.steps}

    def _tuning_steps(self, better: Mapping[str, Path]) -> int:
        rows = []
        for tokens in better.values():
            index = TokenIndex.load(tokens)
            rows.append(sum(map(index.training_rows, self.tasks)))
        batch = max(1, self.options.batch_tokens // self.tokenize.target_length)
        passes = -(-self.options.tuning_epochs * min(rows) // batch)
        return min(self.options.tuning_steps, passes)

    def _described(self) -> dict[str, Any]:
        """What the models depend on beside their text."""
        described = manifest.plain(self.options)
        texts = (TRUSTED, IN_DOMAIN)  # those are inputs
        scoring = ("against", "features")  # and what these change is no model
        known = {n: v for n, v in described.items() if n not in (*texts, *scoring)}
        return {**known, "tuned": list(self.options.tuned)}


def _all_references(path: Path) -> Iterator[dict[str, str]]:
    """The pairs of a shard of a test set, each with one of its references."""
    for record in read_shard(path):
        for target in record.get("references") or [record["target"]]:
            yield {"source": record["source"], "target": target}


def _tell_leaks(name: str, folder: Path, counts: Mapping[str, Any]) -> None:
    for task, row in counts.items():
        if leaking := row["rejected"].get("overlaps_test", 0):
            log.warning(
                "select: %d pairs of the %s text of %s share a sentence with a test "
                "set and are left out; they are in %s",
                leaking,
                name,
                task,
                folder / "dead_letters",
            )
