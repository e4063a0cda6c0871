"""Families of sizes by one word: the ways of [N] to make a model larger."""

from __future__ import annotations

from collections.abc import Iterable

from models.errors import UserError
from models.nmt.sizes import FAMILY_WORDS, get_shape

# [N] tables 1-3 (App. C): one baseline, more or fewer layers on either side.
_SIDE = (2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64)
_BOTH = (2, 3, 4, 5, 8, 16, 20, 24, 32, 48, 56, 64)
_DEPTHS = (3, 6, 8, 12, 16, 24, 32)

_MEMBERS = (
    tuple(f"{layers}L6L" for layers in _SIDE),
    tuple(f"6L{layers}L" for layers in sorted((*_SIDE, 6))),
    tuple(f"{layers}L{layers}L" for layers in _BOTH),
    # [N] table 6 (App. H); what is not named is that of the baseline.
    tuple(
        "6L6L" if d == 1024 else f"6L6L-d{d}"
        for d in (768, 1024, 1536, 2048, 2560, 4096)
    ),
    tuple(f"{layers}L{layers}L-d2048" for layers in _DEPTHS),
    tuple(f"{layers}L{layers}L-d768" for layers in _DEPTHS),
    (
        "6L6L-d768-ff3072-h12",
        "12L12L-ff4096",
        "12L12L-d1536-ff6144",
        "12L12L-d2048-h24",
        "16L16L-d2560-ff10240-h32",
    ),
)
FAMILIES = dict(zip(FAMILY_WORDS, _MEMBERS, strict=True))

# The same around a rung of the ladder, on a laptop: depths around 2L2L, and widths
# with the rung's heads and feed-forward layer. The ladder itself scales uniformly.
_FEW = (1, 2, 3, 4, 6, 8)
_WIDTHS = (0.75, 1, 1.5, 2, 3, 4)
_AROUND = ("encoder-scaled", "decoder-scaled", "symmetric", "width-scaled")


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Sizes, with those of a family in place of its name.

    * ``encoder-scaled``, ``decoder-scaled``, ``symmetric``: [N] tables 1-3.
    * ``width-scaled``, ``depth-scaled-wide``, ``depth-scaled-narrow``, ``uniform``:
      [N] table 6.
    * ``encoder-scaled@15k``: the same around a rung of the ladder.

    A size that two families share is there once; all other names stay as they are,
    known or not.

    Example:
      >>> expand(["15k", "width-scaled@15k"])[:4]
      ('15k', '2L2L@15k-d16', '2L2L@15k', '2L2L@15k-d30')

    Raises:
      UserError: No such rung, or no such family around one.
    """
    found: list[str] = []
    shared: set[str] = set()
    for name in names:
        members = _members(name)
        found += [name] if members is None else [m for m in members if m not in shared]
        shared.update(members or ())
    return tuple(found)


def _members(name: str) -> tuple[str, ...] | None:
    """The sizes of a family; None when the name is not of one."""
    family, at, rung = name.partition("@")
    if family not in FAMILIES:
        return None
    if not at:
        return FAMILIES[family]
    if family not in _AROUND:
        raise UserError(
            f"there is no {family} around a rung ({', '.join(_AROUND)}); the rungs of "
            "the ladder themselves grow in depth and width"
        )
    return _around(family, rung)


def _around(family: str, rung: str) -> tuple[str, ...]:
    shape = get_shape(rung)
    if family == "width-scaled":
        widths = (_rounded(shape.d_model * by, shape.heads) for by in _WIDTHS)
        return tuple(
            f"2L2L@{rung}" + (f"-d{d}" if d != shape.d_model else "") for d in widths
        )
    pattern = {
        "encoder-scaled": "{0}L2L@{1}",
        "decoder-scaled": "2L{0}L@{1}",
        "symmetric": "{0}L{0}L@{1}",
    }[family]
    return tuple(pattern.format(layers, rung) for layers in _FEW)


def _rounded(width: float, heads: int) -> int:
    """The nearest width that the heads tile."""
    return max(1, round(width / heads)) * heads
