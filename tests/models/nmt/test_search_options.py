"""What may be asked of a search."""

import pytest

from models.errors import FieldError
from models.nmt.search_options import END_ID, Hypothesis, SearchOptions


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"beams": 0}, "beams"),
        ({"nbest": 5}, "nbest"),
        ({"length_normalisation": -0.1}, "length_normalisation"),
        ({"length_normalisation": float("nan")}, "length_normalisation"),
        ({"max_length_ratio": 0.0, "max_length_extra": 0}, "max_length_extra"),
        ({"top_k": 3}, "top_k"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": 1.0, "top_p": 1.5}, "top_p"),
        ({"temperature": 1.0, "top_k": 0}, "top_k"),
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong, field):
    with pytest.raises(FieldError) as error:
        SearchOptions(**wrong)
    assert error.value.field == field


def test_maximum_length_rounds_up():
    options = SearchOptions(max_length_ratio=1.3, max_length_extra=2)
    assert [options.max_length(n) for n in (1, 7, 10)] == [4, 12, 15]


def test_a_hypothesis_counts_the_end_of_sentence():
    options = SearchOptions(length_normalisation=0.5)
    ended = Hypothesis.of([7, 8, 9, END_ID], -1.5, options)
    assert ended == Hypothesis((7, 8, 9), -3.0, -1.5, ended=True)
    cut = Hypothesis.of([7, 8, 9, 7], -1.5, options)
    assert cut == Hypothesis((7, 8, 9, 7), -3.0, -1.5, ended=False)
