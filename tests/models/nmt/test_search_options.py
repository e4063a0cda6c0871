"""What may be asked of a search."""

import pytest

from models.errors import FieldError
from models.nmt.search_options import SearchOptions


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


def test_samples_need_no_beam():
    assert SearchOptions(temperature=1.0, nbest=9).width == 9
    assert SearchOptions(beams=6, nbest=2).width == 6
