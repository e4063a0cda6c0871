"""Parameter counts against the table of [M] App. A, without a billion floats."""

import pytest

from models.errors import UserError
from models.nmt.sizes import LADDER, PAPER, SHAPES, count_parameters, get_shape

# [M] App. A: name, vocabulary that the published total implies, total, "corrected".
PUBLISHED = [
    ("19M", 128_000, 149_953_024, 18_881_024),
    ("64M", 128_000, 260_322_816, 63_714_816),
    ("127M", 128_000, 324_035_328, 127_427_328),
    ("191M", 128_000, 387_747_840, 191_139_840),
    ("340M", 128_000, 601_931_776, 339_787_776),
    ("453M", 128_000, 715_193_344, 453_049_344),
    ("708M", 128_128, 1_035_876_864, 707_869_184),
    ("1019M", 128_000, 1_412_528_128, 1_019_312_128),
]


@pytest.mark.parametrize("name, vocabulary, total, n", PUBLISHED)
def test_paper_sizes_to_the_parameter(name, vocabulary, total, n):
    count = count_parameters(get_shape(name), vocabulary)
    assert count.n == n
    assert count.total == total


def test_all_paper_sizes_are_covered():
    assert [shape.name for shape in PAPER] == [row[0] for row in PUBLISHED]


def test_names_say_the_count():
    for shape in SHAPES.values():
        n = count_parameters(shape, 1000).n
        unit = {"k": 1e3, "M": 1e6}[shape.name[-1]]
        assert float(shape.name[:-1]) == pytest.approx(n / unit, abs=0.51)


def test_ladder_climbs_evenly():
    counts = [count_parameters(shape, 1000).n for shape in LADDER]
    ratios = [b / a for a, b in zip(counts, counts[1:], strict=False)]
    assert all(1.3 < ratio < 2.3 for ratio in ratios)


def test_an_unknown_size_says_what_it_may_have_meant():
    with pytest.raises(UserError, match="did you mean 127M"):
        get_shape("128M")
