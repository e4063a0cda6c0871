"""How trials are grouped."""

from components.artifacts.trial import Trial
from components.train.config import Config
from components.train.group import form_groups, resumed_groups


def config(**changes):
    return Config(**{"sizes": ("2k",), "mixtures": (0.3,), **changes})


def trials(size, weights, seeds=(0,)):
    return [
        Trial("en-xx", size, (("en-de", p), ("en-fr", 1 - p)), seed)
        for p in weights
        for seed in seeds
    ]


def test_groups_hold_one_size_and_are_even():
    members = trials("2k", (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)) + trials("5k", (0.2, 0.4))
    groups = form_groups(config(stack=4), members)
    assert [(g.size, len(g.trials)) for g in groups] == [
        ("2k", 3),
        ("2k", 3),
        ("5k", 2),
    ]
    assert [trial for group in groups for trial in group.trials] == members


def test_a_begun_group_goes_on_as_it_was():
    members = trials("2k", (0.1, 0.3, 0.5, 0.7))
    begun = [[members[2].id, members[0].id], ["gone", members[1].id]]
    groups = resumed_groups(config(stack=4), members, begun)
    assert groups[0].trials == (members[2], members[0])
    assert groups[1].trials == (members[1], members[3])
