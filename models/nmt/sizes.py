"""Model sizes: shapes, names and exact parameter counts, without allocating any.

``N`` in the scaling laws counts the parameters of the layers only, neither the
input table nor the softmax table ([M] section 2.1, footnote 2).
"""

from __future__ import annotations

import dataclasses
import re
from typing import Literal

from models.errors import UserError, suggestion

RELATIVE_BUCKETS = 32
RELATIVE_MAX_DISTANCE = 128


@dataclasses.dataclass(frozen=True)
class Shape:
    """Shape of one encoder-decoder Transformer.

    Attributes:
      name: Short name, the number of non-embedding parameters (``127M``).
      enc_layers, dec_layers: Depths, independent of each other.
      d_model: Width of the residual stream.
      heads: Attention heads.
      head_dim: Width of one head.
      ff: Width of the feed-forward layers.
      block: ``t5``, the layers of [M]: gated feed-forward, scale-only norms, a bias
        for relative positions, no other bias, one input table. ``vaswani``, those of
        [N]: ReLU feed-forward, layer norms, biases everywhere, sinusoids for
        positions, an input table for each side, clipped logits.
    """

    name: str
    enc_layers: int
    dec_layers: int
    d_model: int
    heads: int
    head_dim: int
    ff: int
    block: Literal["t5", "vaswani"] = "t5"

    @property
    def logit_clip(self) -> float | None:
        """Bound of the logits ([N] App. C), part of the model."""
        return 10.0 if self.block == "vaswani" else None


@dataclasses.dataclass(frozen=True)
class ParameterCount:
    """Parameters of a model by part; ``n = n_enc + n_dec`` as in [M] and [N].

    Attributes:
      n_enc: Encoder layers, the final norm and position bias of the encoder.
      n_dec: The same of the decoder.
      n_embedding: Input tables and softmax table.
    """

    n_enc: int
    n_dec: int
    n_embedding: int

    @property
    def n(self) -> int:
        """Non-embedding parameters, the N of the laws."""
        return self.n_enc + self.n_dec

    @property
    def total(self) -> int:
        """All trainable parameters."""
        return self.n + self.n_embedding


def count_parameters(shape: Shape, vocabulary_size: int) -> ParameterCount:
    """Counts what `models.nmt.transformer.Transformer` allocates.

    Of the T5 block, per layer: four projections of d x (heads * head_dim) an
    attention, three of d x ff a feed-forward block, one scale vector a norm (two
    norms in an encoder layer, three in a decoder layer); once a side: a final norm
    and 32 position-bias buckets a head (METHOD: N for d = heads * head_dim is
    ``L_e (4 d^2 + 3 d ff + 2 d) + L_d (8 d^2 + 3 d ff + 3 d) + 2 d + 64 heads``).
    Of the block of Vaswani et al. (2017): two projections of d x ff, a bias for every
    projection, scale and shift for every norm, and no position bias. With these, all
    entries of [N] tables 1-3 and 5 come out to their rounding; without the biases of
    attention, or without those of the feed-forward layer, some do not.
    """
    d, inner, ff = shape.d_model, shape.heads * shape.head_dim, shape.ff
    if shape.block == "vaswani":
        attention = 4 * d * inner + 3 * inner + d
        feed_forward = 2 * d * ff + ff + d
        norm, once, tables = 2 * d, 2 * d, 3
    else:
        attention = 4 * d * inner
        feed_forward = 3 * d * ff
        norm, once, tables = d, d + RELATIVE_BUCKETS * shape.heads, 2
    return ParameterCount(
        n_enc=shape.enc_layers * (attention + feed_forward + 2 * norm) + once,
        n_dec=shape.dec_layers * (2 * attention + feed_forward + 3 * norm) + once,
        n_embedding=tables * vocabulary_size * d,
    )


def _shape(name: str, layers: int, d_model: int, heads: int) -> Shape:
    """Equal depths, heads that tile the width, and the paper's ff = 4 d."""
    return Shape(name, layers, layers, d_model, heads, d_model // heads, 4 * d_model)


# [M] App. A, in the paper's order; names are N rounded to millions.
PAPER = (
    _shape("19M", 2, 512, 8),
    _shape("64M", 3, 768, 12),
    _shape("127M", 6, 768, 12),
    _shape("191M", 9, 768, 12),
    _shape("340M", 9, 1024, 16),
    _shape("453M", 12, 1024, 16),
    _shape("708M", 12, 1280, 16),
    _shape("1019M", 12, 1536, 16),
)

# A ladder for laptops under the same rules, evenly spaced in log N: a factor of 1.42 a
# rung, 1.28 to 1.56 as whole widths allow, depth and width growing in tandem as in [M]
# App. A. The rungs of one layer all have two heads: at these widths a rung with
# another number of heads falls off its neighbours' curve.
LADDER = (
    _shape("2k", 1, 8, 2),
    _shape("4k", 1, 10, 2),
    _shape("5k", 1, 12, 2),
    _shape("7k", 1, 14, 2),
    _shape("9k", 1, 16, 2),
    _shape("15k", 1, 20, 2),
    _shape("21k", 1, 24, 2),
    _shape("29k", 1, 28, 2),
    _shape("37k", 1, 32, 2),
    _shape("57k", 2, 28, 4),
    _shape("74k", 2, 32, 4),
    _shape("116k", 2, 40, 5),
    _shape("167k", 2, 48, 6),
    _shape("227k", 2, 56, 7),
    _shape("296k", 2, 64, 8),
    _shape("444k", 3, 64, 8),
    _shape("592k", 4, 64, 8),
    _shape("924k", 4, 80, 8),
    _shape("1330k", 4, 96, 8),
    _shape("1950k", 5, 104, 8),
    _shape("2953k", 5, 128, 8),
    _shape("4000k", 6, 136, 8),
    _shape("5535k", 6, 160, 10),
)

SHAPES = {shape.name: shape for shape in LADDER + PAPER}

# What `models.nmt.families` makes sizes of.
FAMILY_WORDS = (
    "encoder-scaled",
    "decoder-scaled",
    "symmetric",
    "width-scaled",
    "depth-scaled-wide",
    "depth-scaled-narrow",
    "uniform",
)

# [N] App. C.
_BASELINE = Shape("6L6L", 6, 6, 1024, 16, 64, 8192, "vaswani")

# Sizes by rule: `6L2L` is a model of [N], `6L2L@15k` the rung 15k at other depths.
_DEPTHS = re.compile(
    r"(?P<enc>[1-9]\d?)L(?P<dec>[1-9]\d?)L"
    r"(?:@(?P<base>\w+))?(?:-d(?P<d>\d+))?(?:-ff(?P<ff>\d+))?(?:-h(?P<heads>\d+))?"
)


def get_shape(name: str) -> Shape:
    """The shape of a name.

    * ``15k``, ``127M``: a rung of the ladder, a size of [M].
    * ``6L28L``: a model of [N] with 6 encoder and 28 decoder layers, d 1024,
      ff 8192, 16 heads (tables 1-3, 5); ``-d``, ``-ff`` and ``-h`` change the width,
      that of the feed-forward layer and the number of heads (table 6):
      ``12L12L-d1536-ff6144``.
    * ``6L2L@15k``: the rung 15k with other depths, for the bivariate law on a laptop;
      ``2L2L@15k-d30`` at another width too.

    Raises:
      UserError: No such size; says which may have been meant.
    """
    if name in SHAPES:
        return SHAPES[name]
    if found := _DEPTHS.fullmatch(name):
        return _by_rule(name, found)
    hint = suggestion(name, (*SHAPES, *FAMILY_WORDS))
    raise UserError(
        f"unknown size {name!r}{hint} (sizes: {', '.join(SHAPES)}; "
        "or depths, as in 6L28L, 6L6L-d768-ff3072-h12, 2L4L@15k; or a family, as in "
        "encoder-scaled, uniform, decoder-scaled@15k)"
    )


def _by_rule(name: str, found: re.Match[str]) -> Shape:
    base = get_shape(found["base"]) if found["base"] else _BASELINE
    heads = int(found["heads"] or base.heads)
    d = int(found["d"] or base.d_model)
    if d < heads:
        raise UserError(f"size {name!r}: {heads} heads do not fit into a width of {d}")
    return dataclasses.replace(
        base,
        name=name,
        enc_layers=int(found["enc"]),
        dec_layers=int(found["dec"]),
        d_model=d,
        heads=heads,
        head_dim=d // heads,
        ff=int(found["ff"] or base.ff),
    )
