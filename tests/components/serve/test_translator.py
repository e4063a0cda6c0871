"""CTranslate2 and the plain beam search of `models.nmt` find the same."""

import numpy as np
import pytest

from components.serve.keras_search import KerasSearch
from components.serve.translator import CTranslate2Search, Translator
from models.errors import UserError
from models.nmt.search_options import END_ID, SearchOptions
from models.nmt.sizes import Shape
from tests.components.serve.random_model import VOCABULARY, random_model, sentences
from tests.models.nmt.tiny_decoder import likelihood, log_probabilities, pad

# Nothing equal to anything else: depths, heads * head_dim != d, ff != 4 d.
SHAPES = [
    Shape("odd", 2, 3, 14, 2, 5, 22),
    Shape("deep encoder", 3, 1, 12, 3, 4, 20),
    Shape("clipped", 2, 1, 14, 2, 5, 22, "vaswani"),
    Shape("clipped deep decoder", 1, 3, 12, 3, 4, 20, "vaswani"),
]
OPTIONS = SearchOptions(beams=3, nbest=3, max_length_ratio=1.5, max_length_extra=1)


@pytest.fixture(scope="module")
def small():
    return random_model(SHAPES[0])


@pytest.fixture(scope="module")
def translator(small):
    return Translator(small[0], OPTIONS, batch=4)


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        assert [one.ended for one in ours] == [one.ended for one in theirs]
        scores = [one.score for one in theirs]
        np.testing.assert_allclose([one.score for one in ours], scores, atol=1e-4)


# Every shape, and every way to search on two of them: tracing Keras takes seconds.
SEARCHES = (
    OPTIONS,
    SearchOptions(beams=1),
    SearchOptions(beams=5, nbest=5, length_normalisation=0.0),
)
CASES = [(shape, SEARCHES[k % len(SEARCHES)]) for k, shape in enumerate(SHAPES)]


@pytest.mark.parametrize(
    ("shape", "options"), CASES, ids=[f"{s.name}-{o.beams}" for s, o in CASES]
)
def test_ctranslate2_and_keras_find_the_same(shape, options):
    """No logit of these models reaches the clip: CTranslate2 decodes both blocks."""
    trained, _ = random_model(shape)
    sources = sentences(12, seed=4)
    prefixes = [[7, 8] if i % 4 == 0 else [] for i in range(12)]
    found = {
        search: Translator(trained, options, batch=5, search=search).translate(
            sources, prefixes
        )
        for search in (CTranslate2Search, KerasSearch)
    }
    assert_same(found[CTranslate2Search], found[KerasSearch])
    for own, prefix in zip(found[KerasSearch], prefixes, strict=True):
        assert all(list(one.ids[: len(prefix)]) == prefix for one in own)


def test_default_search_depends_on_the_clip():
    for shape, search in ((SHAPES[0], CTranslate2Search), (SHAPES[2], KerasSearch)):
        translator = Translator(random_model(shape)[0], OPTIONS)
        assert type(translator._search) is search


def test_many_are_as_each_alone_and_in_order(translator):
    sources = [*sentences(40, seed=4), [END_ID], []]
    found = translator.translate(sources)
    assert_same(found, [translator.translate([source])[0] for source in sources])
    for source, hypotheses in zip(sources, found, strict=True):
        limit = OPTIONS.max_length(len(source))
        for one in hypotheses:
            length = len(one.ids) + one.ended
            assert length <= limit and (one.ended or length == limit)
    assert [h.ids for h in found[-1]] == [h.ids for h in found[-2]] == [()]


def test_scores_are_likelihoods_alone_and_in_a_packed_row(small, translator):
    sources = sentences(2, seed=21)
    targets = []
    for source, (best, *_) in zip(sources, translator.translate(sources), strict=True):
        targets.append([*best.ids, END_ID] if best.ended else list(best.ids))
        expected = likelihood(small[1], source, targets[-1])
        assert best.log_probability == pytest.approx(expected, abs=1e-4)
    rows = []
    for side in (sources, targets):
        rows.append(pad([side[0] + side[1]], sum(map(len, side)) + 3))
        segments = [1] * len(side[0]) + [2] * len(side[1])
        rows.append(pad([segments], rows[-1].shape[1]))
    logits = np.asarray(small[1](*rows))[0]
    logits = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    packed = logits[np.arange(len(logits)), rows[2][0]]
    for segment, found in enumerate(translator.translate(sources), 1):
        total = packed[rows[3][0] == segment].sum()
        assert total == pytest.approx(found[0].log_probability, abs=1e-4)


def test_samples_depend_on_the_seed_and_the_place_alone(small):
    sources = sentences(9, seed=2)
    options = SearchOptions(temperature=1.0, nbest=2, seed=5)
    at_once = Translator(small[0], options).translate(sources)
    two_calls = Translator(small[0], options)
    parts = two_calls.translate(sources[:4]) + two_calls.translate(sources[4:])
    assert at_once == parts
    other = SearchOptions(temperature=1.0, nbest=2, seed=6)
    assert Translator(small[0], other).translate(sources) != at_once


def test_samples_follow_the_model(small):
    trained, model = small
    source, count = [17, 140, 3, 1], 4000
    options = SearchOptions(temperature=1.0, nbest=count, max_length_extra=0,
                            max_length_ratio=0.25)  # fmt: skip
    (found,) = Translator(trained, options).translate([source])
    firsts = [one.ids[0] if one.ids else END_ID for one in found]
    expected = np.exp(log_probabilities(model, source, [[END_ID]])[0, 0])
    frequencies = np.bincount(firsts, minlength=VOCABULARY) / count
    np.testing.assert_allclose(frequencies, expected, atol=0.03)
    for one in found[:5]:
        target = list(one.ids) if one.ids else [END_ID]
        assert one.score == pytest.approx(likelihood(model, source, target), abs=1e-4)


def test_int8_finds_nearly_the_same(small, translator):
    sources = sentences(30, seed=3)
    found = Translator(small[0], OPTIONS, compute_type="int8").translate(sources)
    plain = translator.translate(sources)
    same = sum(a[0].ids == b[0].ids for a, b in zip(found, plain, strict=True))
    assert 15 <= same
    scores = [[one[0].score for one in side] for side in (found, plain)]
    assert scores[0] != scores[1]


@pytest.mark.parametrize(
    ("sources", "prefixes", "message"),
    [
        ([[3, 1], [3, VOCABULARY, 1]], None, "sentence 1 has the id 150"),
        ([[3, 0, 1]], None, "sentence 0 has the id 0"),
        ([[3, 1]], [[END_ID]], "the prefix of sentence 0 holds the end"),
        ([[3, 1], [4, 1]], [[4]], "2 sentences, 1 prefixes"),
    ],
)
def test_wrong_ids_are_refused(translator, sources, prefixes, message):
    with pytest.raises(UserError, match=message):
        translator.translate(sources, prefixes)


def test_what_the_plain_search_cannot_do_is_refused():
    clipped, _ = random_model(SHAPES[2])
    with pytest.raises(UserError, match="cannot be sampled from"):
        Translator(clipped, SearchOptions(temperature=1.0))
    with pytest.raises(UserError, match="decodes in float32, not in int8"):
        Translator(clipped, OPTIONS, compute_type="int8")


def test_a_compute_type_that_the_device_lacks_is_refused(small):
    with pytest.raises(UserError, match="float8: CTranslate2 cannot .* float32"):
        Translator(small[0], OPTIONS, compute_type="float8")
