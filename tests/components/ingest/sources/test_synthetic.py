"""The synthetic source: exact probabilities, distinct translations, its dials."""

import dataclasses
import itertools
import math
import random
from collections import Counter, defaultdict

import pytest

from components.ingest.sources.synthetic import SyntheticConfig, check_tasks, generate
from components.ingest.sources.synthetic_language import (
    Meaning,
    NounPhrase,
    source_language,
    target_language,
)
from models.errors import FieldError, UserError

# Few words, so that sentences repeat often enough to be counted.
SMALL = SyntheticConfig(
    train_sentences=25_000,
    nouns=2,
    verbs=1,
    adjectives=1,
    prepositions=1,
    translations=2,
    particles=2,
    particle_classes=1,
    sharpness=1.0,
)


def shard(config, task="en-de", split="train", index=0, count=None):
    return list(itertools.islice(generate(config, task, split, index), count))


def test_stated_probabilities_are_the_frequencies():
    """Counted conditional frequencies agree with the stated -ln P, by z-score."""
    pairs = [pair for i in range(2) for pair in shard(SMALL, index=i)]
    by_source = defaultdict(Counter)
    stated = {}
    for source, target, nats in pairs:
        by_source[source][target] += 1
        stated[source, target] = math.exp(-nats)
    checked = 0
    for source, targets in by_source.items():
        total = sum(targets.values())
        for target, seen in targets.items():
            p = stated[source, target]
            if total * p > 20 and total * (1 - p) > 20:
                z = (seen - total * p) / math.sqrt(total * p * (1 - p))
                assert abs(z) < 4.5, (source, target, seen, total * p)
                checked += 1
    assert checked > 50


def test_probabilities_of_all_translations_of_a_sentence_sum_to_one():
    lexicon = SMALL
    target = target_language(lexicon, "de")
    meaning = Meaning(
        NounPhrase(0, False, 1, 0), 0, NounPhrase(1, True, 0, None), None, None
    )

    rng = random.Random(0)
    found = dict(target.translate(meaning, rng) for _ in range(4000))
    # particle 2 x adjective 2 x verb 2 x particle 2
    assert len(found) == 16
    assert sum(math.exp(-nats) for nats in found.values()) == pytest.approx(1.0)


def test_a_meaning_has_one_sentence_and_the_other_way_round():
    config = SyntheticConfig()
    source = source_language(config, "en")

    rng = random.Random(3)
    said = {}
    for _ in range(3000):
        meaning = source.draw(rng)
        assert said.setdefault(source.say(meaning), meaning) == meaning


def test_shards_are_functions_of_their_arguments():
    config = SyntheticConfig(train_sentences=20_050, test_sentences=30)
    assert shard(config, index=1, count=50) == shard(config, index=1, count=50)
    assert shard(config, index=1, count=50) != shard(config, index=0, count=50)
    assert shard(config, count=50) != shard(config, task="en-fr", count=50)
    assert config.shards("train") == 3 and len(shard(config, index=2)) == 50
    assert len(shard(config, split="in_domain")) == 30


@pytest.mark.parametrize("similarity, low, high", [(0, 0, 0.1), (1, 1, 1)])
def test_similarity_is_the_share_in_common(similarity, low, high):
    config = SyntheticConfig(similarity=similarity)
    words = []
    for name in ("de", "fr"):
        language = target_language(config, name).settings
        words.append({*language.nouns, *language.particles[0].words})
    share = len(words[0] & words[1]) / len(words[0])
    assert low <= share <= high


def test_no_word_of_a_language_is_used_twice():
    settings = target_language(SyntheticConfig(), "fr").settings
    words = list(settings.nouns)
    words += [word for genders in settings.determiners for word in genders]
    choices = (settings.verbs, settings.adjectives, settings.prepositions)
    for candidates in itertools.chain(settings.particles, *choices):
        words += candidates.words
    assert len(words) == len(set(words))


def test_sharpness_lowers_the_entropy():
    def mean_nats(sharpness):
        config = dataclasses.replace(SyntheticConfig(), sharpness=sharpness)
        return sum(nats for *_, nats in shard(config, count=500)) / 500

    assert mean_nats(0.0) > mean_nats(1.0) > mean_nats(3.0)


@pytest.mark.parametrize(
    "field, value", [("nouns", 0), ("similarity", 1.5), ("zipf", -1.0), ("seed", -1)]
)
def test_impossible_settings_are_named(field, value):
    with pytest.raises(FieldError, match=field):
        SyntheticConfig(**{field: value})


def test_only_out_of_one_language():
    check_tasks(("en-de", "en-fr"))
    with pytest.raises(UserError, match="out of one language, got de-en, fr-en"):
        check_tasks(("de-en", "fr-en"))
