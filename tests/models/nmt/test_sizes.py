"""Parameter counts against the table of [M] App. A, without a billion floats."""

import numpy as np
import pytest

from models.errors import UserError
from models.nmt.families import FAMILIES, expand
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


def test_an_unknown_size_says_what_it_may_have_meant():
    with pytest.raises(UserError, match="did you mean 127M"):
        get_shape("128M")


def test_ladder_is_evenly_spaced_in_log_n():
    logs = np.log([count_parameters(shape, 1000).n for shape in LADDER])
    assert np.exp(logs[[0, -1]]) == pytest.approx([2.5e3, 5.5e6], rel=0.02)
    place = np.arange(len(logs))
    line = np.polyval(np.polyfit(place, logs, 1), place)
    # No rung is off an even spacing by a third of the way to the next one.
    assert np.abs(logs - line).max() < np.diff(logs).mean() / 3
    assert all(shape.enc_layers == shape.dec_layers for shape in LADDER)
    depths = [shape.enc_layers for shape in LADDER]
    assert depths == sorted(depths)


# [N] tables 1-3 and 6: the total parameters of each family's models, in millions.
# (Of 24L24L-d2048 the table has 3016M; by what gives all others it is 3,016.76M.)
FAMILY_TOTALS = {
    "encoder-scaled": [
        291, 333, 417, 501, 585, 669, 753, 837, 921, 1005, 1089, 1257, 1425, 1593,
    ],
    "decoder-scaled": [
        275, 325, 375, 426, 527, 627, 728, 829, 930, 1030, 1131, 1232, 1433, 1635, 1836,
    ],
    "symmetric": [
        191, 237, 283, 329, 468, 837, 1022, 1207, 1576, 2315, 2684, 3054,
    ],
    "width-scaled": [267, 375, 620, 902, 1221, 2407],
    "depth-scaled-wide": [549, 902, 1137, 1607, 2077, 3017, 3957],
    "depth-scaled-narrow": [171, 267, 332, 461, 590, 848, 1107],
    "uniform": [173, 451, 941, 1604, 3183],
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_those_of_the_tables(family):
    totals = [
        count_parameters(get_shape(name), 32_000).total / 1e6
        for name in expand([family])
    ]
    assert totals == pytest.approx(FAMILY_TOTALS[family], abs=0.5)


def test_families_around_a_rung():
    found = expand(["15k", "encoder-scaled@21k", "decoder-scaled@21k"])
    assert found[:4] == ("15k", "1L2L@21k", "2L2L@21k", "3L2L@21k")
    assert found.count("2L2L@21k") == 1
    shapes = [get_shape(name) for name in found[1:]]
    assert {shape.d_model for shape in shapes} == {24}
    assert max(shape.dec_layers for shape in shapes) == 8
    wide = [get_shape(name) for name in expand(["width-scaled@21k"])]
    assert {(s.enc_layers, s.heads, s.ff, s.block) for s in wide} == {(2, 2, 96, "t5")}
    assert [s.d_model for s in wide] == [18, 24, 36, 48, 72, 96]
    assert all(s.head_dim * s.heads == s.d_model for s in wide)


def test_families_that_do_not_exist():
    with pytest.raises(UserError, match="did you mean encoder-scaled"):
        get_shape("encoder-scale")
    with pytest.raises(UserError, match="no uniform around a rung"):
        expand(["uniform@15k"])
    with pytest.raises(UserError, match="unknown size '16k'"):
        expand(["symmetric@16k"])
    # A table of other people's runs may call its sizes anything.
    assert expand(["base", "large"]) == ("base", "large")
