"""A synthetic translation task whose irreducible loss is known.

One source language, any number of target languages, endless data from a seed.
It is an instrument, not a toy corpus: a model's test loss can be compared with
the exact conditional entropy of the pairs it is tested on.

* **Lexicon.** Nouns, verbs, adjectives and prepositions with Zipfian frequencies.
* **Ambiguity.** Verbs, adjectives and prepositions have several senses; the sense
  is a function of the word and of the semantic class of the noun it belongs to, so
  a translator has to learn a table of facts with a heavy tail.
* **Syntax.** Determiners carry definiteness, number and case (subject, object,
  place). Each target language has its own verb position and adjective position;
  its determiners and adjectives agree with the gender of the noun as well, its
  verbs with the number of the subject.
* **Paraphrase.** Where a translator has a choice (synonyms, determiner variants, a
  sentence particle, a fronted prepositional phrase) the choice is random with known
  probabilities, independent of everything else. All else is a function of the
  source sentence, and different choices give different sentences, so

      -ln P(target | source) = sum over the choices of -ln P(choice)

  exactly, and its sum over a test set, divided by the number of target tokens, is
  the loss of a perfect model on that test set (in expectation over the choices).
* **Similarity** in [0, 1]: the share of words, sense tables and syntactic settings
  that a target language has in common with the prototype of the family.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Iterator

from models.errors import FieldError, UserError

CASES = ("subject", "object", "place")
DETERMINERS = 4 * len(CASES)
OBJECT_SHARE = 0.7
PLACE_SHARE = 0.4
ADJECTIVE_SHARE = 0.3
PLURAL_SHARE = 0.3
PROTOTYPE = "prototype"
SHARD_SENTENCES = 10_000


@dataclasses.dataclass(frozen=True)
class SyntheticConfig:
    """The synthetic source.

    Attributes:
      seed: Of the languages and of the sentences.
      train_sentences: Sentence pairs generated for training, per task.
      test_sentences: Sentence pairs generated for the test set, per task.
      nouns, verbs, adjectives, prepositions: Size of the source lexicon.
      classes: Semantic classes of nouns.
      senses: Senses of a verb, adjective or preposition.
      synonyms: Target words of one sense.
      genders: Genders of target nouns.
      particles: Sentence particles a target sentence may end with.
      zipf: Exponent of the word frequencies, ``rank ** -zipf``.
      similarity: Share that target languages have in common, in [0, 1].
    """

    seed: int = 0
    train_sentences: int = 100_000
    test_sentences: int = 1_000
    nouns: int = 120
    verbs: int = 40
    adjectives: int = 30
    prepositions: int = 8
    classes: int = 6
    senses: int = 3
    synonyms: int = 2
    genders: int = 2
    particles: int = 6
    zipf: float = 1.0
    similarity: float = 0.3

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("seed", "zipf", "similarity"):
                continue
            if value < 1:
                raise FieldError(field.name, f"got {value}, expected at least 1")
        if not 0 <= self.similarity <= 1:
            raise FieldError("similarity", f"got {self.similarity}, expected 0 to 1")
        if self.zipf < 0:
            raise FieldError("zipf", f"got {self.zipf}, expected at least 0")

    def sentences(self, split: str) -> int:
        """Sentence pairs of a split, per task."""
        return self.train_sentences if split == "train" else self.test_sentences

    def shards(self, split: str) -> int:
        """Shards of a split, per task."""
        return math.ceil(self.sentences(split) / SHARD_SENTENCES)


@dataclasses.dataclass(frozen=True)
class Choice:
    """Alternatives with known probabilities, cumulated for sampling."""

    words: tuple[str, ...]
    cumulative: tuple[float, ...]
    nats: tuple[float, ...]

    @classmethod
    def of(cls, words: list[str], weights: list[float]) -> Choice:
        total = sum(weights)
        shares = [weight / total for weight in weights]
        return cls(
            tuple(words),
            tuple(itertools.accumulate(shares)),
            tuple(-math.log(share) for share in shares),
        )

    def draw(self, rng: random.Random) -> tuple[str, float]:
        """A word and ``-ln P(word)``."""
        last = len(self.words) - 1
        index = min(bisect.bisect(self.cumulative, rng.random()), last)
        return self.words[index], self.nats[index]


@dataclasses.dataclass(frozen=True)
class NounPhrase:
    """``case`` indexes `CASES`; the adjective may be missing."""

    case: int
    indefinite: bool
    plural: bool
    noun: int
    adjective: int | None

    @property
    def determiner(self) -> int:
        """Which of the determiners: case, definiteness and number."""
        return 4 * self.case + 2 * self.indefinite + self.plural


@dataclasses.dataclass(frozen=True)
class Meaning:
    """What a source sentence says; source and targets are functions of it."""

    subject: NounPhrase
    verb: int
    object: NounPhrase | None
    preposition: int | None
    place: NounPhrase | None


@dataclasses.dataclass(frozen=True)
class SourceLanguage:
    """The lexicon of the source language and its frequencies."""

    determiners: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    adjectives: tuple[str, ...]
    prepositions: tuple[str, ...]
    noun_class: tuple[int, ...]
    noun_weights: tuple[float, ...]
    verb_weights: tuple[float, ...]
    adjective_weights: tuple[float, ...]
    preposition_weights: tuple[float, ...]

    def draw(self, rng: random.Random) -> Meaning:
        """A random meaning."""
        subject = self._noun_phrase(rng, 0)
        verb = _draw_index(rng, self.verb_weights)
        has_object = rng.random() < OBJECT_SHARE
        object_ = self._noun_phrase(rng, 1) if has_object else None
        if rng.random() >= PLACE_SHARE:
            return Meaning(subject, verb, object_, None, None)
        preposition = _draw_index(rng, self.preposition_weights)
        return Meaning(subject, verb, object_, preposition, self._noun_phrase(rng, 2))

    def say(self, meaning: Meaning) -> str:
        """The sentence; one meaning, one sentence, and the other way round."""
        words = [*self._say_phrase(meaning.subject), self.verbs[meaning.verb]]
        if meaning.object is not None:
            words += self._say_phrase(meaning.object)
        if meaning.preposition is not None and meaning.place is not None:
            words.append(self.prepositions[meaning.preposition])
            words += self._say_phrase(meaning.place)
        return " ".join(words)

    def _noun_phrase(self, rng: random.Random, case: int) -> NounPhrase:
        adjective = None
        if rng.random() < ADJECTIVE_SHARE:
            adjective = _draw_index(rng, self.adjective_weights)
        noun = _draw_index(rng, self.noun_weights)
        plural = rng.random() < PLURAL_SHARE
        return NounPhrase(case, rng.random() < 0.5, plural, noun, adjective)

    def _say_phrase(self, phrase: NounPhrase) -> list[str]:
        words = [self.determiners[phrase.determiner], self.nouns[phrase.noun]]
        if phrase.adjective is not None:
            words.append(self.adjectives[phrase.adjective])
        return words


@dataclasses.dataclass(frozen=True)
class TargetLanguage:
    """A target language: lexicon, sense tables and syntax.

    ``verbs[v][sense]`` (and the like) is a `Choice` among synonyms;
    ``verb_sense[v][class]`` is the sense that a noun class selects.
    """

    nouns: tuple[Choice, ...]
    verbs: tuple[tuple[Choice, ...], ...]
    adjectives: tuple[tuple[Choice, ...], ...]
    prepositions: tuple[tuple[Choice, ...], ...]
    verb_sense: tuple[tuple[int, ...], ...]
    adjective_sense: tuple[tuple[int, ...], ...]
    preposition_sense: tuple[tuple[int, ...], ...]
    gender: tuple[int, ...]
    determiners: tuple[tuple[Choice, ...], ...]
    adjective_endings: tuple[str, ...]
    plural_ending: str
    verb_endings: tuple[str, str]
    particle: Choice
    fronting: Choice
    verb_last: bool
    adjective_last: bool

    def translate(
        self, meaning: Meaning, source: SourceLanguage, rng: random.Random
    ) -> tuple[str, float]:
        """A random translation and its ``-ln P(translation | source)``."""
        words: list[str] = []
        subject, nats = self._phrase(meaning.subject, source, rng)
        selector = meaning.object or meaning.subject
        verb, verb_nats = self._verb(meaning, selector, source, rng)
        nats += verb_nats
        object_words: list[str] = []
        if meaning.object is not None:
            object_words, more = self._phrase(meaning.object, source, rng)
            nats += more
        if self.verb_last:
            words = [*subject, *object_words, verb]
        else:
            words = [*subject, verb, *object_words]
        if meaning.preposition is not None and meaning.place is not None:
            place, more = self._place(meaning.preposition, meaning.place, source, rng)
            position, front_nats = self.fronting.draw(rng)
            nats += more + front_nats
            words = [*place, *words] if position == "front" else [*words, *place]
        particle, more = self.particle.draw(rng)
        if particle:
            words.append(particle)
        return " ".join(words), nats + more

    def _verb(
        self,
        meaning: Meaning,
        selector: NounPhrase,
        source: SourceLanguage,
        rng: random.Random,
    ) -> tuple[str, float]:
        sense = self.verb_sense[meaning.verb][source.noun_class[selector.noun]]
        stem, nats = self.verbs[meaning.verb][sense].draw(rng)
        return stem + self.verb_endings[meaning.subject.plural], nats

    def _place(
        self,
        preposition: int,
        place: NounPhrase,
        source: SourceLanguage,
        rng: random.Random,
    ) -> tuple[list[str], float]:
        sense = self.preposition_sense[preposition][source.noun_class[place.noun]]
        word, nats = self.prepositions[preposition][sense].draw(rng)
        words, more = self._phrase(place, source, rng)
        return [word, *words], nats + more

    def _phrase(
        self, phrase: NounPhrase, source: SourceLanguage, rng: random.Random
    ) -> tuple[list[str], float]:
        gender = self.gender[phrase.noun]
        determiner, nats = self.determiners[phrase.determiner][gender].draw(rng)
        noun, more = self.nouns[phrase.noun].draw(rng)
        nats += more
        words = [noun + (self.plural_ending if phrase.plural else "")]
        if phrase.adjective is not None:
            noun_class = source.noun_class[phrase.noun]
            sense = self.adjective_sense[phrase.adjective][noun_class]
            stem, more = self.adjectives[phrase.adjective][sense].draw(rng)
            nats += more
            adjective = stem + self.adjective_endings[gender]
            words = [*words, adjective] if self.adjective_last else [adjective, *words]
        return [determiner, *words], nats


def generate(
    config: SyntheticConfig, task: str, split: str, index: int
) -> Iterator[tuple[str, str, float]]:
    """Shard ``index`` of a split: (source, target, -ln P(target | source)).

    A function of its arguments alone, whatever was generated before.
    """
    source_name, _, target_name = task.partition("-")
    source = source_language(config, source_name)
    target = target_language(config, target_name)
    rng = random.Random(f"{config.seed}/{task}/{split}/{index}")
    first = index * SHARD_SENTENCES
    count = min(SHARD_SENTENCES, config.sentences(split) - first)
    for _ in range(count):
        meaning = source.draw(rng)
        sentence, nats = target.translate(meaning, source, rng)
        yield source.say(meaning), sentence, nats


def check_tasks(tasks: tuple[str, ...]) -> None:
    """Raises ``UserError`` unless all tasks translate out of one language."""
    sources = {task.partition("-")[0] for task in tasks}
    if len(sources) > 1:
        raise UserError(
            f"ingest.source synthetic translates out of one language, got {tasks}; "
            "use tasks such as en-de, en-fr, or bring text"
        )


@functools.lru_cache(maxsize=4)
def source_language(config: SyntheticConfig, name: str) -> SourceLanguage:
    """The source language of a configuration."""
    rng = random.Random(f"{config.seed}/source/{name}")
    new_word = _word_maker(rng, "bdfgklmnprstvz", "aeiou", set())
    return SourceLanguage(
        determiners=tuple(new_word() for _ in range(DETERMINERS)),
        nouns=tuple(new_word() for _ in range(config.nouns)),
        verbs=tuple(new_word() for _ in range(config.verbs)),
        adjectives=tuple(new_word() for _ in range(config.adjectives)),
        prepositions=tuple(new_word() for _ in range(config.prepositions)),
        noun_class=tuple(rng.randrange(config.classes) for _ in range(config.nouns)),
        noun_weights=_zipf(config.nouns, config.zipf),
        verb_weights=_zipf(config.verbs, config.zipf),
        adjective_weights=_zipf(config.adjectives, config.zipf),
        preposition_weights=_zipf(config.prepositions, config.zipf),
    )


@functools.lru_cache(maxsize=16)
def target_language(config: SyntheticConfig, name: str) -> TargetLanguage:
    """A target language: the prototype's settings, or its own, item by item."""
    # A word of the prototype is no other word of the language: were it one, two
    # different choices could give the same sentence.
    taken: set[str] = set()
    prototype = _LanguageMaker(config, PROTOTYPE, taken).make()
    own = _LanguageMaker(config, name, taken).make()
    rng = random.Random(f"{config.seed}/mix/{name}")

    def mix(ours, theirs):
        if isinstance(ours, tuple):
            return tuple(mix(a, b) for a, b in zip(ours, theirs, strict=True))
        return theirs if rng.random() < config.similarity else ours

    return TargetLanguage(
        **{
            field.name: mix(getattr(own, field.name), getattr(prototype, field.name))
            for field in dataclasses.fields(TargetLanguage)
        }
    )


class _LanguageMaker:
    """Draws one whole language; names differ, so languages do."""

    def __init__(self, config: SyntheticConfig, name: str, taken: set[str]):
        self.config = config
        self.rng = random.Random(f"{config.seed}/target/{name}")
        letters = list("bcdfghjklmnpqrstvwxz")
        self.rng.shuffle(letters)
        self.new_word = _word_maker(self.rng, "".join(letters[:12]), "aeiouy", taken)

    def make(self) -> TargetLanguage:
        config, rng = self.config, self.rng
        endings = [vowel + consonant for vowel in "aeiou" for consonant in "nrst"]
        rng.shuffle(endings)
        return TargetLanguage(
            nouns=tuple(self._synonyms() for _ in range(config.nouns)),
            verbs=self._lexicon(config.verbs),
            adjectives=self._lexicon(config.adjectives),
            prepositions=self._lexicon(config.prepositions),
            verb_sense=self._senses(config.verbs),
            adjective_sense=self._senses(config.adjectives),
            preposition_sense=self._senses(config.prepositions),
            gender=tuple(rng.randrange(config.genders) for _ in range(config.nouns)),
            determiners=tuple(
                tuple(self._synonyms(2) for _ in range(config.genders))
                for _ in range(DETERMINERS)
            ),
            adjective_endings=tuple(endings.pop() for _ in range(config.genders)),
            plural_ending=endings.pop(),
            verb_endings=(endings.pop(), endings.pop()),
            particle=Choice.of(
                ["", *(self.new_word() for _ in range(config.particles))],
                [2.0, *(1.0 for _ in range(config.particles))],
            ),
            fronting=Choice.of(["back", "front"], [0.7, 0.3]),
            verb_last=rng.random() < 0.5,
            adjective_last=rng.random() < 0.5,
        )

    def _synonyms(self, count: int | None = None) -> Choice:
        count = count or self.config.synonyms
        words = [self.new_word() for _ in range(count)]
        return Choice.of(words, list(_zipf(count, 1.0)))

    def _lexicon(self, words: int) -> tuple[tuple[Choice, ...], ...]:
        return tuple(
            tuple(self._synonyms() for _ in range(self.config.senses))
            for _ in range(words)
        )

    def _senses(self, words: int) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(
                self.rng.randrange(self.config.senses)
                for _ in range(self.config.classes)
            )
            for _ in range(words)
        )


def _word_maker(rng: random.Random, consonants: str, vowels: str, taken: set[str]):
    """A function that returns a new word of two syllables, or three when the
    short ones run out, at each call, and adds it to ``taken``."""

    def new_word() -> str:
        for attempt in itertools.count():
            syllables = 2 if attempt < 20 else 3
            word = "".join(
                rng.choice(consonants) + rng.choice(vowels) for _ in range(syllables)
            )
            if word not in taken:
                taken.add(word)
                return word
        raise AssertionError("unreachable: itertools.count never ends")

    return new_word


def _zipf(count: int, exponent: float) -> tuple[float, ...]:
    """Unnormalised Zipf weights of ranks 1 to ``count``."""
    return tuple((rank + 1) ** -exponent for rank in range(count))


def _draw_index(rng: random.Random, weights: tuple[float, ...]) -> int:
    return rng.choices(range(len(weights)), weights)[0]
