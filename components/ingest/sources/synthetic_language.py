"""The languages of the synthetic source: lexicon, preferences and syntax."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.ingest.sources.synthetic import SyntheticConfig

CASES = ("subject", "object", "place")
DETERMINERS = 2 * len(CASES)
OBJECT_SHARE = 0.9
PLACE_SHARE = 0.2
ADJECTIVE_SHARE = 0.2
PLURAL_SHARE = 0.3
FRONT_SHARE = 0.3
VERB_ENDINGS = tuple(vowel + consonant for vowel in "aeiou" for consonant in "nrst")
PROTOTYPE = "prototype"

Vector = tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class NounPhrase:
    """``case`` indexes `CASES`; the adjective may be missing."""

    case: int
    plural: bool
    noun: int
    adjective: int | None

    @property
    def determiner(self) -> int:
        """Which of the determiners: case and number."""
        return 2 * self.case + self.plural


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
    zipf: float

    def draw(self, rng: random.Random) -> Meaning:
        """A random meaning."""
        subject = self._noun_phrase(rng, 0)
        verb = self._index(rng, self.verbs)
        has_object = rng.random() < OBJECT_SHARE
        object_ = self._noun_phrase(rng, 1) if has_object else None
        if rng.random() >= PLACE_SHARE:
            return Meaning(subject, verb, object_, None, None)
        preposition = self._index(rng, self.prepositions)
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
            adjective = self._index(rng, self.adjectives)
        plural = rng.random() < PLURAL_SHARE
        return NounPhrase(case, plural, self._index(rng, self.nouns), adjective)

    def _say_phrase(self, phrase: NounPhrase) -> list[str]:
        words = [self.determiners[phrase.determiner], self.nouns[phrase.noun]]
        if phrase.adjective is not None:
            words.append(self.adjectives[phrase.adjective])
        return words

    def _index(self, rng: random.Random, words: Sequence[str]) -> int:
        return rng.choices(range(len(words)), _zipf(len(words), self.zipf))[0]


@dataclasses.dataclass(frozen=True)
class Choice:
    """Alternatives with known probabilities."""

    words: tuple[str, ...]
    cumulative: tuple[float, ...]
    nats: tuple[float, ...]

    @classmethod
    def of(cls, words: Sequence[str], weights: Sequence[float]) -> Choice:
        """The choice with probabilities proportional to the weights."""
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
class Candidates:
    """Words to choose from and the features of nouns that each prefers."""

    words: tuple[str, ...]
    preferences: tuple[Vector, ...]

    def beside(self, features: Vector, sharpness: float) -> Choice:
        """The choice beside a noun with those features."""
        scores = [
            sharpness * sum(a * b for a, b in zip(preference, features, strict=True))
            for preference in self.preferences
        ]
        top = max(scores)
        return Choice.of(self.words, [math.exp(score - top) for score in scores])


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that makes a target language, item by item."""

    determiners: tuple[tuple[str, ...], ...]
    nouns: tuple[str, ...]
    gender: tuple[int, ...]
    features: tuple[Vector, ...]
    verbs: tuple[Candidates, ...]
    adjectives: tuple[Candidates, ...]
    prepositions: tuple[Candidates, ...]
    particles: tuple[Candidates, ...]
    verb_endings: tuple[str, ...]
    verb_last: bool
    adjective_last: bool


class TargetLanguage:
    """Translates meanings, with the exact probability of each translation."""

    def __init__(self, settings: Settings, config: SyntheticConfig):
        self.settings = settings

        def beside_nouns(words: Sequence[Candidates], sharpness: float):
            nouns = settings.features
            return [[word.beside(noun, sharpness) for noun in nouns] for word in words]

        self._verbs = beside_nouns(settings.verbs, config.context)
        self._adjectives = beside_nouns(settings.adjectives, config.context)
        self._prepositions = beside_nouns(settings.prepositions, config.context)
        self._particles = beside_nouns(settings.particles, config.sharpness)

    def translate(self, meaning: Meaning, rng: random.Random) -> tuple[str, float]:
        """A random translation and its ``-ln P(translation | source)``."""
        settings = self.settings
        words, nats = self._phrase(meaning.subject, rng)
        selector = meaning.object or meaning.subject
        stem, more = self._verbs[meaning.verb][selector.noun].draw(rng)
        verb = stem + settings.verb_endings[meaning.subject.plural]
        nats += more
        object_words: list[str] = []
        if meaning.object is not None:
            object_words, more = self._phrase(meaning.object, rng)
            nats += more
        words += [*object_words, verb] if settings.verb_last else [verb, *object_words]
        if meaning.preposition is not None and meaning.place is not None:
            choices = self._prepositions[meaning.preposition]
            preposition, more = choices[meaning.place.noun].draw(rng)
            place, place_nats = self._phrase(meaning.place, rng)
            front = rng.random() < FRONT_SHARE
            nats += more + place_nats
            nats -= math.log(FRONT_SHARE if front else 1 - FRONT_SHARE)
            place = [preposition, *place]
            words = place + words if front else words + place
        return " ".join(words), nats

    def _phrase(
        self, phrase: NounPhrase, rng: random.Random
    ) -> tuple[list[str], float]:
        settings = self.settings
        words, nats = [settings.nouns[phrase.noun]], 0.0
        if phrase.adjective is not None:
            choices = self._adjectives[phrase.adjective]
            adjective, nats = choices[phrase.noun].draw(rng)
            after = settings.adjective_last
            words = [*words, adjective] if after else [adjective, *words]
        for choices in self._particles:
            particle, more = choices[phrase.noun].draw(rng)
            words.append(particle)
            nats += more
        gender = settings.gender[phrase.noun]
        return [settings.determiners[phrase.determiner][gender], *words], nats


@functools.lru_cache(maxsize=4)
def source_language(config: SyntheticConfig, name: str) -> SourceLanguage:
    """The source language of a config."""
    rng = random.Random(f"{config.seed}/source/{name}")
    new_word = _word_maker(rng, "bdfgklmnprstvz", "aeiou", set())

    def words(count: int) -> tuple[str, ...]:
        return tuple(new_word() for _ in range(count))

    return SourceLanguage(
        determiners=words(DETERMINERS),
        nouns=words(config.nouns),
        verbs=words(config.verbs),
        adjectives=words(config.adjectives),
        prepositions=words(config.prepositions),
        zipf=config.zipf,
    )


@functools.lru_cache(maxsize=16)
def target_language(config: SyntheticConfig, name: str) -> TargetLanguage:
    """A target language: item by item the prototype's setting, or its own."""
    # A word of the prototype is no other word of the language: were it one, two
    # different choices could give the same sentence.
    taken: set[str] = set()
    prototype = _draw_settings(config, PROTOTYPE, taken)
    own = _draw_settings(config, name, taken)
    rng = random.Random(f"{config.seed}/mix/{name}")

    def mix(ours, theirs):
        if isinstance(ours, Candidates):
            return Candidates(
                mix(ours.words, theirs.words),
                mix(ours.preferences, theirs.preferences),
            )
        if isinstance(ours, tuple) and not isinstance(ours[0], float):
            return tuple(mix(a, b) for a, b in zip(ours, theirs, strict=True))
        return theirs if rng.random() < config.similarity else ours

    mixed = {
        field.name: mix(getattr(own, field.name), getattr(prototype, field.name))
        for field in dataclasses.fields(Settings)
    }
    return TargetLanguage(Settings(**mixed), config)


def _draw_settings(config: SyntheticConfig, name: str, taken: set[str]) -> Settings:
    """A whole language; other names, other languages."""
    rng = random.Random(f"{config.seed}/target/{name}")
    letters = list("bcdfghjklmnpqrstvwxz")
    rng.shuffle(letters)
    new_word = _word_maker(rng, "".join(letters[:12]), "aeiouy", taken)
    importance = _zipf(config.nouns, config.spectrum)
    # Scaled so that a noun's scores have variance 1 before the sharpness.
    norm = math.sqrt(sum(weight**2 for weight in importance))

    def features() -> Vector:
        return tuple(rng.gauss(0, weight / norm) for weight in importance)

    def candidates(count: int) -> Candidates:
        words = tuple(new_word() for _ in range(count))
        preferences = tuple(
            tuple(rng.gauss(0, 1) for _ in importance) for _ in range(count)
        )
        return Candidates(words, preferences)

    def lexemes(count: int) -> tuple[Candidates, ...]:
        return tuple(candidates(config.translations) for _ in range(count))

    return Settings(
        determiners=tuple(
            tuple(new_word() for _ in range(config.genders)) for _ in range(DETERMINERS)
        ),
        nouns=tuple(new_word() for _ in range(config.nouns)),
        gender=tuple(rng.randrange(config.genders) for _ in range(config.nouns)),
        features=tuple(features() for _ in range(config.nouns)),
        verbs=lexemes(config.verbs),
        adjectives=lexemes(config.adjectives),
        prepositions=lexemes(config.prepositions),
        particles=tuple(
            candidates(config.particles) for _ in range(config.particle_classes)
        ),
        verb_endings=tuple(rng.sample(VERB_ENDINGS, 2)),
        verb_last=rng.random() < 0.5,
        adjective_last=rng.random() < 0.5,
    )


def _word_maker(
    rng: random.Random, consonants: str, vowels: str, taken: set[str]
) -> Callable[[], str]:
    """A function that returns a new word of two syllables, or three when the
    short ones run out, at each call, and adds it to ``taken``."""

    def new_word() -> str:
        syllables = 2
        for attempt in itertools.count(1):
            word = "".join(
                rng.choice(consonants) + rng.choice(vowels) for _ in range(syllables)
            )
            if word not in taken:
                break
            syllables = 2 if attempt < 20 else 3
        taken.add(word)
        return word

    return new_word


def _zipf(count: int, exponent: float) -> tuple[float, ...]:
    """Unnormalised Zipf weights of ranks 1 to ``count``."""
    return tuple((rank + 1) ** -exponent for rank in range(count))
