"""One trained model with its vocabulary. Needs neither TensorFlow nor Keras."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components.artifacts import checkpoints, manifest
from components.artifacts.token_index import VOCABULARY, TokenIndex
from components.artifacts.trial_folder import WEIGHTS, TrialRecord, weights_at
from components.tokenize.vocabulary import Vocabulary
from models.errors import UserError
from models.nmt.sizes import Shape, count_parameters, get_shape


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model and what it needs to translate.

    Attributes:
      name: Of its trial.
      shape: Of the model.
      weights: Path of each variable of `models.nmt.transformer.Transformer` -> array.
      vocabulary: Text to ids and back.
      tags: Task -> tag such as ``<2de>``, ``None`` where the model needs none.
      mixture: Task -> share of the training examples.
      longest_source: Most source tokens of a sentence that it was trained on.
    """

    name: str
    shape: Shape
    weights: Mapping[str, np.ndarray]
    vocabulary: Vocabulary
    tags: Mapping[str, str | None]
    mixture: Mapping[str, float]
    longest_source: int

    @property
    def targets(self) -> tuple[str, ...]:
        """Languages that the model has a word for, in the order of the tasks."""
        return tuple(dict.fromkeys(task.partition("-")[2] for task in self.tags))

    def tag(
        self, to: str | None, source: str | None = None, *, zero_shot: bool = False
    ) -> str | None:
        """The tag that asks for a language.

        Args:
          to: Language to write; may be left out when the model writes only one.
          source: Language to read, when it matters which; any when ``None``.
          zero_shot: Accept a direction that the model has not been trained for.

        Raises:
          UserError: The model does not know the language, or has not been trained
            for the direction.
        """
        if to is None:
            if len(self.targets) > 1:
                known = ", ".join(self.targets)
                raise UserError(f"--to is missing; {self.name} writes {known}")
            to = self.targets[0]
        found = [task for task in self.tags if task.partition("-")[2] == to]
        if not found:
            raise UserError(
                f"--to {to}: {self.name} does not know this language; it writes "
                f"{', '.join(self.targets)}"
            )
        sources = tuple(dict.fromkeys(task.partition("-")[0] for task in self.tags))
        if source is not None and source not in (*sources, *self.targets):
            raise UserError(
                f"--from {source}: {self.name} does not know this language; it reads "
                f"{', '.join(sources)}"
            )
        named = [task for task in found if source in (None, task.partition("-")[0])]
        if not zero_shot and not any(self.mixture.get(task, 0) > 0 for task in named):
            trained = [task for task, weight in self.mixture.items() if weight > 0]
            raise UserError(
                f"--to {to}: {self.name} was not trained for {source or 'any'}-{to}, "
                f"only for {', '.join(trained)}; --zero-shot translates all the same"
            )
        return self.tags[found[0]]

    def offered(self, *, zero_shot: bool) -> dict[str, str | None]:
        """Language -> tag, of those that the model was trained to write.

        Args:
          zero_shot: Offer those too that it has a tag for and was not trained for.

        Raises:
          UserError: There is none.
        """
        found = {
            task.partition("-")[2]: tag
            for task, tag in self.tags.items()
            if zero_shot or self.mixture.get(task, 0) > 0
        }
        if not found:
            raise UserError(f"{self.name}: trained for no task of its vocabulary")
        return found

    def encode(self, texts: Sequence[str], tag: str | None) -> list[list[int]]:
        """The ids of each sentence as in training: tag, pieces, end of sentence."""
        flat, lengths = self.vocabulary.encode(texts, tag)
        return [part.tolist() for part in np.split(flat, np.cumsum(lengths)[:-1])]


def load_trained(
    folder: Path, tokens: Path | None = None, *, step: int | None = None
) -> Trained:
    """Loads the weights of one trial.

    Args:
      folder: Of the trial, ``runs/NAME/train/TRIAL``.
      tokens: The artifact of ``tokenize`` that it was trained on; by default the one
        beside ``train``.
      step: Of an evaluation whose weights were kept; the final weights when ``None``.

    Raises:
      UserError: It is no finished trial, or not one of this vocabulary.
    """
    tokens = tokens or folder.resolve().parent.parent / "tokenize"
    if not (folder / WEIGHTS).is_file() or not (folder / manifest.FILE_NAME).is_file():
        raise UserError(f"{folder}: not a finished trial" + _trials_in(folder))
    record = TrialRecord.load(folder)
    if record.status != "done":
        raise UserError(f"{folder}: this trial failed: {record.reason}")
    index = TokenIndex.load(tokens)
    path = folder / (WEIGHTS if step is None else weights_at(step))
    arrays, described = load_weights(path, tokens)
    shape, vocabulary = get_shape(described.size), Vocabulary.load(tokens)
    parameters = count_parameters(shape, vocabulary.size).total
    found = sum(array.size for array in arrays.values())
    if found != parameters:
        raise UserError(
            f"{path}: {found} parameters; a model of size {shape.name} has {parameters}"
        )
    return Trained(
        folder.name,
        shape,
        arrays,
        vocabulary,
        {task: task_index.tag for task, task_index in index.tasks.items()},
        dict(manifest.load(folder).config["trial"]["mixture"]),
        index.source_length,
    )


def check_tokens(train: Path, tokens: Path) -> None:
    """Raises ``UserError`` unless a sweep was trained on these tokens."""
    if manifest.load(train).inputs["tokens"] != manifest.digest_input(tokens):
        raise UserError(
            f"{train}: trained with another vocabulary or text than that of {tokens}; "
            "name the tokens it was trained on, or train again"
        )


def load_weights(
    path: Path, tokens: Path
) -> tuple[dict[str, np.ndarray], checkpoints.ModelRecord]:
    """Trained weights and what they are of.

    Two vocabularies of one size fit the same weights and give nonsense, so a digest
    of the vocabulary decides, and not its size.

    Raises:
      UserError: The checkpoint is damaged, or was made with another vocabulary.
    """
    arrays, record = checkpoints.load_weights(path)
    vocabulary = tokens / VOCABULARY
    if not vocabulary.is_file():
        raise UserError(f"{tokens}: no {VOCABULARY}; expected an artifact of tokenize")
    if record.vocabulary != manifest.digest_file(vocabulary):
        raise UserError(
            f"{path}: trained with another vocabulary than {vocabulary}; name the "
            "tokens it was trained on (--tokens), or train again"
        )
    return arrays, record


def _trials_in(folder: Path) -> str:
    """What may have been meant: the trials of a run or of its ``train`` folder."""
    for place in (folder / "train", folder):
        names = sorted(path.parent.parent for path in place.glob(f"*/{WEIGHTS}"))
        if names:
            shown = ", ".join(str(name) for name in names[:3])
            return f"; name one of its {len(names)} trials: {shown}" + (
                ", ..." if len(names) > 3 else ""
            )
    return "; expected a folder such as runs/NAME/train/TRIAL"
