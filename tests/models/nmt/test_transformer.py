"""The Transformer against KerasHub's T5, against itself unpacked and unstacked."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from models.nmt.relative_bias import relative_buckets
from models.nmt.sizes import Shape, count_parameters
from models.nmt.transformer import Transformer, shift_right

# Nothing equal to anything else: depths, heads x head_dim != d, ff != 4 d.
ODD = Shape("odd", 2, 3, 12, 2, 5, 20)
VOCABULARY = 50


def build(shape=ODD, stack=None, seeds=(3,)):
    model = Transformer(shape, VOCABULARY, stack=stack)
    model.build()
    model.initialise(seeds)
    return model


def packed(rng, rows=3, source_length=13, target_length=11):
    """Random rows with two sentences and some padding."""

    def side(length):
        ids = rng.integers(3, VOCABULARY, (rows, length))
        segments = np.where(np.arange(length) < 6, 1, 2)
        segments = np.where(np.arange(length) < length - 2, segments, 0)
        segments = np.broadcast_to(segments, ids.shape)
        return (ids * (segments > 0)).astype("int32"), segments.astype("int32")

    return (*side(source_length), *side(target_length))


def test_counts_what_it_allocates():
    assert build().count_parameters() == count_parameters(ODD, VOCABULARY)
    stacked = build(stack=3, seeds=(0, 1, 2))
    assert stacked.count_parameters() == count_parameters(ODD, VOCABULARY)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_relative_buckets_equal_kerashub(bidirectional):
    from keras_hub.src.models.t5 import t5_multi_head_attention as attention

    distance = np.arange(300)[None, :] - np.arange(300)[:, None]
    theirs = attention.T5MultiHeadAttention._relative_position_bucket(
        keras.ops.convert_to_tensor(distance, dtype="int32"),
        bidirectional=bidirectional,
    )
    ours = relative_buckets(300, 300, bidirectional=bidirectional)
    np.testing.assert_array_equal(ours, keras.ops.convert_to_numpy(theirs))


def t5_twins():
    """One of ours and KerasHub's T5 with the same weights; pairs of variables."""
    import keras_hub as hub

    shape = Shape("t5", 2, 2, 12, 2, 6, 20)
    theirs = hub.models.T5Backbone(
        vocabulary_size=VOCABULARY,
        num_layers=2,
        num_heads=2,
        hidden_dim=12,
        intermediate_dim=20,
        key_value_dim=6,
        dropout=0.0,
        activation=lambda x: keras.activations.gelu(x, approximate=True),
        use_gated_activation=True,
        tie_embedding_weights=False,
    )
    ours = build(shape)
    pairs = _copy_to_t5(ours, theirs)
    assert len(pairs) == len(theirs.trainable_variables)
    return ours, theirs, pairs


def decoded_by_t5(theirs, source, source_segments, target, target_segments):
    shifted = np.array(shift_right(target, target_segments))
    return theirs(
        {
            "encoder_token_ids": source,
            "encoder_padding_mask": source_segments,
            "decoder_token_ids": shifted,
            "decoder_padding_mask": target_segments,
        }
    )["decoder_sequence_output"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_logits_equal_kerashub_t5_with_the_same_weights():
    ours, theirs, _ = t5_twins()
    fields = _one_sentence_a_row()
    expected = np.array(ours.softmax(decoded_by_t5(theirs, *fields)))
    logits = np.array(ours(*fields))
    kept = fields[3] > 0
    np.testing.assert_allclose(logits[kept], expected[kept], atol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_equal_those_through_kerashub_t5():
    ours, theirs, pairs = t5_twins()
    fields = _one_sentence_a_row()
    kept = tf.cast(fields[3] > 0, tf.float32)
    with tf.GradientTape() as tape:
        hidden = decoded_by_t5(theirs, *fields)
        logits = tf.matmul(hidden, theirs.token_embedding.reverse_embeddings)
        nats = tf.nn.sparse_softmax_cross_entropy_with_logits(fields[2], logits)
        loss = tf.reduce_sum(nats * kept)
    variables = [pair[0] for pair in pairs]
    expected = tape.gradient(loss, variables)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(ours.token_losses(*fields) * kept)
    found = tape.gradient(loss, [pair[1] for pair in pairs])
    for (variable, own), wanted, gradient in zip(pairs, expected, found, strict=True):
        wanted = tf.convert_to_tensor(wanted)  # a table's comes as slices
        gradient = tf.reshape(gradient, wanted.shape)
        scale = float(tf.reduce_max(tf.abs(wanted)))
        np.testing.assert_allclose(
            gradient, wanted, atol=2e-5 * max(scale, 1.0), err_msg=own.path
        )
        assert scale > 0, variable.path


def _one_sentence_a_row():
    rng = np.random.default_rng(5)
    source = rng.integers(3, VOCABULARY, (3, 9)).astype("int32")
    target = rng.integers(3, VOCABULARY, (3, 7)).astype("int32")
    source_segments = (np.arange(9) < [[9], [6], [4]]).astype("int32")
    target_segments = (np.arange(7) < [[7], [3], [5]]).astype("int32")
    return (
        source * source_segments,
        source_segments,
        target * target_segments,
        target_segments,
    )


def _copy_to_t5(ours, theirs):
    """Copies our weights into a T5Backbone; returns the pairs of variables."""
    pairs = [
        (theirs.token_embedding.embeddings, ours.embedding.table),
        (theirs.token_embedding.reverse_embeddings, ours.softmax.kernel),
        (theirs.encoder_layer_norm.weight, ours.encoder_norm.scale),
        (theirs.decoder_layer_norm.weight, ours.decoder_norm.scale),
    ]
    sides = [
        (theirs.encoder_transformer_layers, ours.encoder_layers, ours.encoder_bias),
        (theirs.decoder_transformer_layers, ours.decoder_layers, ours.decoder_bias),
    ]
    for their_layers, our_layers, bias in sides:
        first = their_layers[0].self_attention
        pairs.append((first.relative_attention_bias, bias.table))
        for their, our in zip(their_layers, our_layers, strict=True):
            pairs += _layer_pairs(their, our)
    for theirs_weight, our_weight in pairs:
        theirs_weight.assign(our_weight)
    return pairs


def _layer_pairs(theirs, ours):
    def attention(their, our):
        return [
            (their.query_projector.kernel, our.query.kernel),
            (their.key_projector.kernel, our.key.kernel),
            (their.value_projector.kernel, our.value.kernel),
            (their.output_projector.kernel, our.output_projection.kernel),
        ]

    pairs = attention(theirs.self_attention, ours.attention)
    pairs.append((theirs.self_attention_layer_norm.weight, ours.attention_norm.scale))
    if theirs.is_decoder:
        pairs += attention(theirs.cross_attention, ours.cross_attention)
        pairs.append((theirs.cross_attention_layer_norm.weight, ours.cross_norm.scale))
    pairs += [
        (theirs.input_projector.kernel, ours.feedforward.gate.kernel),
        (theirs.gate_projector.kernel, ours.feedforward.up.kernel),
        (theirs.output_projector.kernel, ours.feedforward.down.kernel),
        (theirs.layer_norm.weight, ours.feedforward_norm.scale),
    ]
    return pairs


def test_shift_right_starts_each_sentence_anew():
    ids = np.array([[5, 6, 1, 7, 1, 0]])
    segments = np.array([[1, 1, 1, 2, 2, 0]])
    shifted = keras.ops.convert_to_numpy(shift_right(ids, segments))
    np.testing.assert_array_equal(shifted, [[0, 5, 6, 0, 7, 0]])


def test_packed_sentences_do_not_see_each_other():
    rng = np.random.default_rng(11)
    model = build()
    source, source_segments, target, target_segments = packed(rng)
    together = model(source, source_segments, target, target_segments)
    together = keras.ops.convert_to_numpy(together)
    for segment in (1, 2):
        s, t = source_segments[0] == segment, target_segments[0] == segment
        alone = model(
            source[:, s],
            np.ones_like(source[:, s]),
            target[:, t],
            np.ones_like(target[:, t]),
        )
        alone = keras.ops.convert_to_numpy(alone)
        np.testing.assert_allclose(together[:, t], alone, atol=2e-5)


def test_no_position_sees_the_future():
    rng = np.random.default_rng(2)
    model = build()
    source, source_segments, target, target_segments = packed(rng)
    before = keras.ops.convert_to_numpy(
        model(source, source_segments, target, target_segments)
    )
    changed = target.copy()
    changed[:, 4] = (changed[:, 4] + 7) % VOCABULARY
    after = keras.ops.convert_to_numpy(
        model(source, source_segments, changed, target_segments)
    )
    # Position 4 predicts id 4, so only what comes after it may move.
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert np.abs(before[:, 5] - after[:, 5]).max() > 1e-3


def test_a_stack_is_its_models_side_by_side():
    rng = np.random.default_rng(7)
    batches = [packed(rng) for _ in range(3)]
    stacked = build(stack=3, seeds=(4, 9, 4))
    fields = [np.stack(field) for field in zip(*batches, strict=True)]
    together = keras.ops.convert_to_numpy(stacked(*fields))
    for place, seed in enumerate((4, 9, 4)):
        alone = keras.ops.convert_to_numpy(build(seeds=(seed,))(*batches[place]))
        np.testing.assert_allclose(together[place], alone, atol=2e-5)


@pytest.mark.usefixtures("bfloat16")
def test_mixed_precision_stays_close():
    rng = np.random.default_rng(8)
    fields = packed(rng)
    exact = keras.ops.convert_to_numpy(build()(*fields))
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = build()(*fields)
    finally:
        keras.config.set_dtype_policy("float32")
    assert keras.backend.standardize_dtype(mixed.dtype) == "bfloat16"
    mixed = keras.ops.convert_to_numpy(keras.ops.cast(mixed, "float32"))
    assert np.abs(mixed - exact).max() < 0.15
    assert np.corrcoef(mixed.ravel(), exact.ravel())[0, 1] > 0.999
