"""The block of [N] against KerasHub's Transformer layers and its published tables."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from models.errors import UserError
from models.nmt.sizes import Shape, count_parameters, get_shape
from models.nmt.transformer import Transformer, positions_of, shift_right

SHAPE = Shape("odd", 2, 3, 12, 3, 4, 20, "vaswani")
VOCABULARY = 50

# [N] tables 1-3, 5 and 6 (App. C, F, H): size, millions of parameters of the encoder
# and the decoder (None where the table does not give them), millions in all.
PUBLISHED = [
    *((f"{layers}L6L", enc, 151, total) for layers, enc, total in [
        (2, 42, 291), (4, 84, 333), (8, 168, 417), (12, 252, 501), (16, 336, 585),
        (20, 420, 669), (24, 504, 753), (28, 588, 837), (32, 672, 921), (36, 756, 1005),
        (40, 840, 1089), (48, 1007, 1257), (56, 1175, 1425), (64, 1343, 1593),
    ]),
    *((f"6L{layers}L", 126, dec, total) for layers, dec, total in [
        (2, 50, 275), (4, 101, 325), (6, 151, 375), (8, 202, 426), (12, 302, 527),
        (16, 403, 627), (20, 504, 728), (24, 605, 829), (28, 705, 930), (32, 806, 1030),
        (36, 907, 1131), (40, 1008, 1232), (48, 1209, 1433), (56, 1411, 1635),
        (64, 1612, 1836),
    ]),
    *((f"{layers}L{layers}L", enc, dec, total) for layers, enc, dec, total in [
        (2, 42, 50, 191), (3, 63, 76, 237), (4, 84, 101, 283), (5, 105, 126, 329),
        (8, 168, 202, 468), (16, 336, 403, 837), (20, 420, 504, 1022),
        (24, 504, 605, 1207), (32, 672, 806, 1576), (48, 1007, 1209, 2315),
        (56, 1175, 1411, 2684), (64, 1343, 1612, 3054),
    ]),
    # The table has 590 in all, more than the sum of its parts.
    ("15L7L", 315, 176, 589), ("26L38L", 546, 957, 1601), ("18L26L", 378, 655, 1131),
    ("6L6L-d768", None, None, 267), ("6L6L-d4096", None, None, 2407),
    ("3L3L-d2048", None, None, 549), ("32L32L-d2048", None, None, 3957),
    ("3L3L-d768", None, None, 171), ("32L32L-d768", None, None, 1107),
    ("6L6L-d768-ff3072-h12", None, None, 173), ("12L12L-ff4096", None, None, 451),
    ("12L12L-d1536-ff6144", None, None, 941), ("12L12L-d2048-h24", None, None, 1604),
    ("16L16L-d2560-ff10240-h32", None, None, 3183),
]  # fmt: skip


@pytest.mark.parametrize("name, encoder, decoder, total", PUBLISHED)
def test_published_tables_to_their_rounding(name, encoder, decoder, total):
    count = count_parameters(get_shape(name), 32_000)
    assert round(count.total / 1e6) == total
    if encoder is not None:
        assert round(count.n_enc / 1e6) == encoder
        assert round(count.n_dec / 1e6) == decoder


def test_a_rung_at_other_depths():
    base, other = get_shape("167k"), get_shape("1L3L@167k")
    assert (other.enc_layers, other.dec_layers) == (1, 3)
    assert (other.d_model, other.ff, other.block) == (base.d_model, base.ff, "t5")
    for wrong in ("0L2L", "2L2L@16k", "6L6L-d8", "6L6L-heads2", "6L"):
        with pytest.raises(UserError, match="size"):
            get_shape(wrong)


def build(shape=SHAPE, stack=None, seeds=(3,)):
    model = Transformer(shape, VOCABULARY, stack=stack)
    model.build()
    model.initialise(seeds)
    rng = np.random.default_rng(8)
    for weight in model.trainable_variables:
        # Biases of 0 and scales of 1 would hide where they are forgotten.
        if len(weight.shape) < 2 + (stack is not None):
            weight.assign(weight + rng.normal(0, 0.3, weight.shape))
    return model


def rows(rng, count=3, source_length=9, target_length=7):
    source = rng.integers(3, VOCABULARY, (count, source_length)).astype("int32")
    target = rng.integers(3, VOCABULARY, (count, target_length)).astype("int32")
    return source, np.ones_like(source), target, np.ones_like(target)


def test_counts_what_it_allocates():
    assert build().count_parameters() == count_parameters(SHAPE, VOCABULARY)
    stacked = build(stack=2, seeds=(0, 1))
    assert stacked.count_parameters() == count_parameters(SHAPE, VOCABULARY)


def test_equals_kerashub_layers_with_the_same_weights():
    import keras_hub as hub

    ours = build()
    source, source_segments, target, target_segments = rows(np.random.default_rng(5))
    options = {
        "intermediate_dim": 20,
        "num_heads": 3,
        "normalize_first": True,
        "activation": "relu",
        "layer_norm_epsilon": 1e-6,
    }
    signal = ours._embed(ours.embedding, source, source_segments)
    for layer in ours.encoder_layers:
        theirs = hub.layers.TransformerEncoder(**options)
        theirs.build(signal.shape)
        _copy(layer, theirs)
        signal = theirs(signal)
    encoded = ours.encoder_norm(signal)
    shifted = shift_right(target, target_segments)
    x = ours._embed(ours.target_embedding, shifted, target_segments)
    for layer in ours.decoder_layers:
        theirs = hub.layers.TransformerDecoder(**options)
        theirs.build(x.shape, encoded.shape)
        _copy(layer, theirs)
        x = theirs(x, encoded)
    expected = ours.project(ours.decoder_norm(x))
    found = ours(source, source_segments, target, target_segments)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def _copy(ours, theirs) -> None:
    """Copies a layer of ours into KerasHub's."""
    pairs = [
        (theirs._self_attention_layer, ours.attention, ours.attention_norm),
    ]
    norms = [theirs._self_attention_layer_norm]
    if hasattr(ours, "cross_attention"):
        pairs.append(
            (theirs._cross_attention_layer, ours.cross_attention, ours.cross_norm)
        )
        norms.append(theirs._cross_attention_layer_norm)
    for (attention, own, own_norm), norm in zip(pairs, norms, strict=True):
        for name in ("query", "key", "value"):
            part = getattr(own, name)
            dense = getattr(attention, f"_{name}_dense")
            dense.kernel.assign(np.reshape(part.kernel, dense.kernel.shape))
            dense.bias.assign(np.reshape(part.bias, dense.bias.shape))
        dense, part = attention._output_dense, own.output_projection
        dense.kernel.assign(np.reshape(part.kernel, dense.kernel.shape))
        dense.bias.assign(part.bias)
        norm.gamma.assign(own_norm.scale)
        norm.beta.assign(own_norm.shift)
    feedforward = ours.feedforward
    theirs._feedforward_layer_norm.gamma.assign(ours.feedforward_norm.scale)
    theirs._feedforward_layer_norm.beta.assign(ours.feedforward_norm.shift)
    for dense, part in (
        (theirs._feedforward_intermediate_dense, feedforward.up),
        (theirs._feedforward_output_dense, feedforward.down),
    ):
        dense.kernel.assign(part.kernel)
        dense.bias.assign(part.bias)


def test_positions_restart_in_each_sentence():
    segments = np.array([[1, 1, 1, 2, 2, 0], [1, 2, 2, 2, 3, 3]], "int32")
    np.testing.assert_array_equal(
        positions_of(segments), [[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 0, 1]]
    )


def test_sentences_of_a_packed_row_do_not_see_each_other():
    model = build()
    source, _, target, _ = rows(np.random.default_rng(6), count=1)
    source_segments = np.array([[1] * 4 + [2] * 5], "int32")
    target_segments = np.array([[1] * 3 + [2] * 4], "int32")
    together = model(source, source_segments, target, target_segments)
    alone = model(
        source[:, 4:], source_segments[:, 4:], target[:, 3:], target_segments[:, 3:]
    )
    np.testing.assert_allclose(together[:, 3:], alone, atol=1e-5)


def test_logits_are_clipped_in_losses_too():
    model = build()
    model.softmax.kernel.assign(100.0 * model.softmax.kernel)
    fields = rows(np.random.default_rng(7))
    logits = keras.ops.convert_to_numpy(model(*fields))
    assert np.abs(logits).max() == 10.0
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(fields[2], logits)
    np.testing.assert_allclose(model.token_losses(*fields), expected, rtol=1e-5)


@pytest.mark.parametrize("block", ["t5", "vaswani"])
def test_label_smoothing_equals_keras(block):
    model = build(Shape("s", 1, 1, 12, 3, 4, 20, block))
    fields = rows(np.random.default_rng(9))
    found = model.token_losses(*fields, label_smoothing=0.15)
    expected = keras.losses.categorical_crossentropy(
        keras.ops.one_hot(fields[2], VOCABULARY),
        model(*fields),
        from_logits=True,
        label_smoothing=0.15,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)
