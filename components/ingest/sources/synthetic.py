"""A synthetic translation task whose irreducible loss is known.

One source language, any number of target languages, endless data from a seed.
It is an instrument, not a toy corpus: a model's test loss can be compared with
the exact conditional entropy of the pairs it is tested on.

* **Lexicon.** Nouns, verbs, adjectives and prepositions with Zipfian frequencies.
* **Ambiguity resolved by context.** A verb, an adjective or a preposition has
  several translations, and every noun phrase is closed by particles, one from each
  of several classes. Which one is a matter of preference, graded and different for
  every noun: ``P(word | noun) = softmax(sharpness * preference(word) .
  features(noun))``. The features have as many dimensions as there are nouns, of
  falling importance (``rank ** -spectrum``), so a narrow model can only hold the
  leading ones, and its loss keeps falling with its size.
* **Syntax.** Determiners carry number and case (subject, object, place). Each target
  language has its own verb position and adjective position; its determiners agree
  with the gender of the noun as well, its verbs with the number of the subject; a
  place may be fronted.
* **Known entropy.** The choices are random with known probabilities, and all else is
  a function of the source sentence. Different choices give different sentences, so

      -ln P(target | source) = sum over the choices of -ln P(choice)

  exactly, and its sum over a test set, divided by the number of target tokens, is
  the loss of a perfect model on that test set (in expectation over the choices).
* **Similarity** in [0, 1]: the share of words, preferences and syntactic settings
  that a target language has in common with the prototype of the family.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator

from components.ingest.sources import synthetic_language as language
from models.errors import FieldError, UserError

SHARD_SENTENCES = 10_000


@dataclasses.dataclass(frozen=True)
class SyntheticConfig:
    """The synthetic source.

    Attributes:
      seed: Of the languages and of the sentences.
      train_sentences: Sentence pairs generated for training, per task.
      test_sentences: Sentence pairs generated for the test set, per task.
      nouns, verbs, adjectives, prepositions: Size of the source lexicon.
      translations: Translations of a verb, adjective or preposition.
      particles: Particles of one class.
      particle_classes: Particles that close a target noun phrase, one a class.
      genders: Genders of target nouns.
      zipf: Exponent of the word frequencies, ``rank ** -zipf``.
      spectrum: Exponent of the importance of a noun's features.
      sharpness: How strongly a noun prefers some particles over others; 0: not at
        all.
      context: The same for the translations of a verb, adjective or preposition.
      similarity: Share that target languages have in common, in [0, 1].
    """

    seed: int = 0
    train_sentences: int = 100_000
    test_sentences: int = 1_000
    nouns: int = 64
    verbs: int = 4
    adjectives: int = 3
    prepositions: int = 2
    translations: int = 2
    particles: int = 32
    particle_classes: int = 3
    genders: int = 2
    zipf: float = 0.5
    spectrum: float = 0.3
    sharpness: float = 2.6
    context: float = 0.6
    similarity: float = 0.5

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            least = 0 if field.type == "float" or field.name == "seed" else 1
            if not value >= least:
                raise FieldError(field.name, f"got {value}, expected at least {least}")
        if self.similarity > 1:
            raise FieldError("similarity", f"got {self.similarity}, expected 0 to 1")

    def sentences(self, split: str) -> int:
        """Sentence pairs of a split, per task."""
        return self.train_sentences if split == "train" else self.test_sentences

    def shards(self, split: str) -> int:
        """Shards of a split, per task."""
        return math.ceil(self.sentences(split) / SHARD_SENTENCES)


def generate(
    config: SyntheticConfig, task: str, split: str, index: int
) -> Iterator[tuple[str, str, float]]:
    """Shard ``index`` of a split: (source, target, -ln P(target | source)).

    A function of its arguments alone, whatever was generated before.
    """
    source_name, _, target_name = task.partition("-")
    source = language.source_language(config, source_name)
    target = language.target_language(config, target_name)
    rng = random.Random(f"{config.seed}/{task}/{split}/{index}")
    first = index * SHARD_SENTENCES
    count = min(SHARD_SENTENCES, config.sentences(split) - first)
    for _ in range(count):
        meaning = source.draw(rng)
        sentence, nats = target.translate(meaning, rng)
        yield source.say(meaning), sentence, nats


def check_tasks(tasks: tuple[str, ...]) -> None:
    """Raises ``UserError`` unless all tasks translate out of one language."""
    sources = {task.partition("-")[0] for task in tasks}
    if len(sources) > 1:
        raise UserError(
            "ingest.source synthetic translates out of one language, got "
            f"{', '.join(tasks)}; use tasks such as en-de and en-fr, or bring text"
        )
