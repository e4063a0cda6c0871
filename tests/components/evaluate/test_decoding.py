"""Many sentences at a time give what each gives alone."""

import dataclasses
import itertools

import numpy as np
import pytest

from components.evaluate import decoding
from components.evaluate.decoding import Translator
from components.evaluate.seats import draws
from models.errors import UserError
from models.nmt.search_options import END_ID, SearchOptions
from models.nmt.sizes import Shape
from tests.models.nmt.tiny_decoder import build, fast_search, likelihood, pad

VOCABULARY = 150
SMALL = Shape("small", 1, 1, 12, 2, 5, 20)  # programs of few operations
OPTIONS = SearchOptions(beams=3, nbest=2, max_length_ratio=1.5, max_length_extra=1)


@pytest.fixture(scope="module")
def model():
    return build(VOCABULARY, seed=1, shape=SMALL)


@pytest.fixture(scope="module")
def translator(model):
    """Two workers of two seats: sentences come and go all the time."""
    return Translator(model, OPTIONS, batch_sentences=4, workers=2, window=12)


def sentences(count, seed, longest=7):
    rng = np.random.default_rng(seed)
    return [
        [*rng.integers(2, VOCABULARY, rng.integers(1, longest)).tolist(), END_ID]
        for _ in range(count)
    ]


def assert_same(found, expected):
    assert [h.ids for h in found] == [ids for ids, _ in expected]
    totals = [h.log_probability for h in found]
    np.testing.assert_allclose(totals, [total for _, total in expected], atol=1e-4)


def test_many_are_as_each_alone_and_in_order(model, translator):
    sources = sentences(24, seed=4)
    found = translator.translate_ids(sources)
    assert len(found) == 24
    for chosen in range(0, 24, 6):
        limit = OPTIONS.max_length(len(sources[chosen]))
        (alone,) = fast_search(model, OPTIONS, [sources[chosen]], [limit])
        assert_same(found[chosen], alone)
    assert len({h.ended for hypotheses in found for h in hypotheses}) == 2
    for source, hypotheses in zip(sources, found, strict=True):
        limit = OPTIONS.max_length(len(source))
        for one in hypotheses:
            length = len(one.ids) + one.ended
            assert length <= limit and (one.ended or length == limit)
            assert one.score == pytest.approx(one.log_probability / length)


def test_absolute_positions_count_from_each_sentences_own_start():
    shape = dataclasses.replace(SMALL, block="vaswani")
    model = build(VOCABULARY, seed=4, shape=shape)
    sources = sentences(7, seed=8)
    translator = Translator(model, OPTIONS, batch_sentences=2, workers=1)
    for source, hypotheses in zip(
        sources, translator.translate_ids(sources), strict=True
    ):
        best = hypotheses[0]
        target = (*best.ids, END_ID) if best.ended else best.ids
        expected = likelihood(model, source, target)
        assert best.log_probability == pytest.approx(expected, abs=1e-4)


def test_scores_are_likelihoods_whatever_is_in_the_batch(model, translator):
    sources = sentences(9, seed=8)
    for source, hypotheses in zip(
        sources, translator.translate_ids(sources), strict=True
    ):
        best = hypotheses[0]
        target = (*best.ids, END_ID) if best.ended else best.ids
        expected = likelihood(model, source, target)
        assert best.log_probability == pytest.approx(expected, abs=1e-4)


def test_likelihood_in_a_packed_row_is_that_of_the_search(model, translator):
    """The model sees a sentence of a packed row as it sees it when it decodes."""
    sources = sentences(2, seed=21)
    targets = []
    for best, _ in translator.translate_ids(sources):
        targets.append([*best.ids, END_ID] if best.ended else list(best.ids))
    rows = []
    for side in (sources, targets):
        rows.append(pad([side[0] + side[1]], sum(map(len, side)) + 3))
        segments = [1] * len(side[0]) + [2] * len(side[1])
        rows.append(pad([segments], rows[-1].shape[1]))
    logits = np.asarray(model(*rows))[0]
    logits = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    packed = logits[np.arange(len(logits)), rows[2][0]]
    for segment, found in enumerate(translator.translate_ids(sources), 1):
        total = packed[rows[3][0] == segment].sum()
        assert total == pytest.approx(found[0].log_probability, abs=1e-4)


def test_those_that_outgrow_their_room_get_a_longer_one(model, monkeypatch):
    wanted = SearchOptions(beams=2, min_length=26, max_length_ratio=8.0)
    translator = Translator(model, wanted, batch_sentences=2, workers=1)
    rooms = []
    program = decoding.Program
    monkeypatch.setattr(
        decoding, "Program", lambda *a, **k: rooms.append(a[2]) or program(*a, **k)
    )
    sources = sentences(2, seed=3, longest=4)
    for source, hypotheses in zip(
        sources, translator.translate_ids(sources), strict=True
    ):
        best = hypotheses[0]
        assert len(best.ids) >= 26
        target = (*best.ids, END_ID) if best.ended else best.ids
        expected = likelihood(model, source, target)
        assert best.log_probability == pytest.approx(expected, abs=2e-4)
    assert rooms[0].length < 26 < rooms[1].length


def programs_of(monkeypatch):
    """What is made from here on: source length of its room, and whether compiled."""
    made = []
    program = decoding.Program

    def noted(model, options, room, *, compiled):
        made.append((room.source_length, compiled))
        return program(model, options, room, compiled=False)

    monkeypatch.setattr(decoding, "Program", noted)
    return made


def test_programs_are_made_when_they_pay(model, monkeypatch):
    made = programs_of(monkeypatch)
    monkeypatch.setattr(decoding, "OWN_ROOM_FROM", 100)
    monkeypatch.setattr(decoding, "COMPILED_FROM", 200)
    translator = Translator(model, OPTIONS, batch_sentences=4, workers=1)
    long, short = [[5, 6, 7] * 5 + [END_ID]], sentences(2, seed=5)
    expected = [translator.translate_ids(one) for one in (long, short)]
    assert made == [(16, False)]  # short ones had room with the long one
    for _ in range(3):
        assert_same_text(translator.translate_ids(short), expected[1])
    assert made == [(16, False), (8, False)]
    for _ in range(6):
        assert_same_text(translator.translate_ids(short), expected[1])
    assert made == [(16, False), (8, False), (8, True)]
    assert_same_text(translator.translate_ids(long), expected[0])


def assert_same_text(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, [(h.ids, h.log_probability) for h in theirs])


def test_larger_rooms_give_the_same(model):
    sources = sentences(9, seed=17)
    alone = Translator(model, OPTIONS, batch_sentences=4, workers=1)
    after = Translator(model, OPTIONS, batch_sentences=4, workers=1)
    after.translate_ids([[*range(2, 60), END_ID]] * 3)
    assert_same_text(after.translate_ids(sources), alone.translate_ids(sources))


def test_samples_go_on_from_the_first_number(model):
    wanted = SearchOptions(temperature=1.0, nbest=2, seed=7)
    translator = Translator(model, wanted, batch_sentences=2, workers=1)
    same = [[5, 9, 4, END_ID]] * 4
    found = [
        [[one.ids for one in own] for own in translator.translate_ids(these, first=k)]
        for these, k in ((same, 0), (same[2:], 2))
    ]
    assert found[0][:2] != found[0][2:] == found[1]


def test_reads_no_further_ahead_than_its_window(translator):
    read = itertools.count()
    endless = ([int(2 + n % 90), END_ID] for n in read)
    next(translator.stream(endless))
    assert next(read) == 12


def test_empty_sentences_and_prefixes(translator):
    sources = [[], [5, 6, END_ID], [7, END_ID]]
    prefixes = [[], [9, 11], []]
    empty, begun, free = translator.translate_ids(sources, prefixes=prefixes)
    assert [h.ids for h in empty] == [()]
    assert all(h.ids[:2] == (9, 11) for h in begun)
    assert free[0].ids == translator.translate_ids(sources[2:])[0][0].ids


def test_samples_belong_to_the_number_of_the_sentence(model):
    sources = sentences(4, seed=2)
    wanted = SearchOptions(temperature=1.0, nbest=2, seed=7)
    drawn = [
        Translator(model, wanted, batch_sentences=seats, workers=1).translate_ids(these)
        for seats, these in ((4, sources), (2, sources[:2]))
    ]
    ids = [[[h.ids for h in one] for one in found] for found in drawn]
    assert ids[0][:2] == ids[1]
    other = dataclasses.replace(wanted, seed=8)
    assert not np.array_equal(draws(wanted, 3, 5), draws(other, 3, 5))
    assert not np.array_equal(draws(wanted, 3, 5), draws(wanted, 4, 5))
    np.testing.assert_array_equal(draws(wanted, 3, 5), draws(wanted, 3, 9)[:, :5])


@pytest.mark.parametrize(
    ("source", "prefix", "message"),
    [
        ([4, VOCABULARY, 1], [], "the tokenizer"),
        ([4, 0, 1], [], "expected 1 to 149"),
        ([4, 1], [3, 1], "prefix of sentence 0 holds the end"),
    ],
)
def test_bad_ids_are_refused(translator, source, prefix, message):
    with pytest.raises(UserError, match=message):
        translator.translate_ids([source], prefixes=[prefix])


def test_prefixes_must_be_as_many(translator):
    with pytest.raises(UserError, match="2 sentences, 1 prefixes"):
        translator.translate_ids([[2, 1], [3, 1]], prefixes=[[4]])


@pytest.mark.slow
def test_compiled_programs_find_the_same(model):
    sources = sentences(5, seed=13)
    found = [
        Translator(
            model, OPTIONS, batch_sentences=2, workers=1, compiled=compiled
        ).translate_ids(sources)
        for compiled in (False, True)
    ]
    assert_same_text(*found)
