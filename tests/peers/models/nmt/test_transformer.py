"""The Transformer against Hugging Face's T5."""

import numpy as np
import pytest
import torch
from transformers.models.t5 import modeling_t5 as t5

from models.nmt.relative_bias import relative_buckets
from models.nmt.sizes import Shape
from models.nmt.transformer import Transformer, shift_right

VOCABULARY = 50
# Equal depths, as both of [M] and T5; then nothing equal to anything else.
SHAPES = (Shape("even", 2, 2, 12, 3, 4, 20), Shape("odd", 1, 3, 14, 2, 5, 22))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_relative_buckets(bidirectional):
    distance = torch.arange(300)[None, :] - torch.arange(300)[:, None]
    theirs = t5.T5Attention._relative_position_bucket(
        distance, bidirectional=bidirectional
    )
    ours = relative_buckets(300, 300, bidirectional=bidirectional)
    np.testing.assert_array_equal(ours, theirs.numpy())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_logits_and_gradients_with_the_same_weights(shape):
    import tensorflow as tf

    ours, theirs, pairs = twins(shape)
    fields = one_sentence_a_row()
    kept = fields[3] > 0
    logits = np.array(ours(*fields))
    expected = decoded(theirs, *fields)
    np.testing.assert_allclose(logits[kept], expected.detach().numpy()[kept], atol=1e-5)

    nats = torch.nn.functional.cross_entropy(
        expected.transpose(1, 2), torch.from_numpy(fields[2]).long(), reduction="none"
    )
    (nats * torch.from_numpy(kept)).sum().backward()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(ours.token_losses(*fields) * tf.cast(kept, tf.float32))
    gradients = tape.gradient(loss, [own for _, own in pairs])
    for (their, own), found in zip(pairs, gradients, strict=True):
        wanted = turned(their.grad.numpy(), own)
        found = tf.convert_to_tensor(found)  # a table's comes as slices
        scale = np.abs(wanted).max()
        assert scale > 0, own.path
        np.testing.assert_allclose(
            found, wanted, atol=2e-5 * max(scale, 1.0), err_msg=own.path
        )


def twins(shape):
    """One of ours and one of theirs with its weights; pairs of all weights."""
    config = t5.T5Config(
        vocab_size=VOCABULARY,
        d_model=shape.d_model,
        d_kv=shape.head_dim,
        d_ff=shape.ff,
        num_layers=shape.enc_layers,
        num_decoder_layers=shape.dec_layers,
        num_heads=shape.heads,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    theirs = t5.T5ForConditionalGeneration(config).eval()
    # Transformers 5 ties the two tables whatever the configuration says.
    theirs.lm_head.weight = torch.nn.Parameter(theirs.lm_head.weight.clone())
    ours = Transformer(shape, VOCABULARY)
    ours.build()
    ours.initialise([3])
    rng = np.random.default_rng(4)
    for weight in ours.trainable_variables:
        if len(weight.shape) == 1:  # a norm whose scale is 1 tests nothing
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
    pairs = weight_pairs(ours, theirs)
    assert len(pairs) == len(ours.trainable_variables)
    assert len(pairs) == len(list(theirs.parameters()))
    for their, own in pairs:
        their.data = torch.from_numpy(turned(own.numpy(), own).copy())
    return ours, theirs, pairs


def turned(array, own):
    """Ours as theirs, and back: PyTorch's Linear keeps outputs x inputs."""
    same = "table" in own.path or len(own.shape) == 1
    return array if same else array.T


def weight_pairs(ours, theirs):
    pairs = [
        (theirs.shared.weight, ours.embedding.table),
        (theirs.lm_head.weight, ours.softmax.kernel),
    ]
    sides = (
        (theirs.encoder, ours.encoder_layers, ours.encoder_norm, ours.encoder_bias),
        (theirs.decoder, ours.decoder_layers, ours.decoder_norm, ours.decoder_bias),
    )
    for stack, layers, norm, bias in sides:
        first = stack.block[0].layer[0].SelfAttention
        pairs.append((first.relative_attention_bias.weight, bias.table))
        pairs.append((stack.final_layer_norm.weight, norm.scale))
        for block, layer in zip(stack.block, layers, strict=True):
            pairs += layer_pairs(block.layer, layer)
    return pairs


def layer_pairs(theirs, ours):
    attentions = [(theirs[0].SelfAttention, ours.attention)]
    norms = [ours.attention_norm]
    if len(theirs) == 3:
        attentions.append((theirs[1].EncDecAttention, ours.cross_attention))
        norms.append(ours.cross_norm)
    pairs = []
    for their, our in attentions:
        pairs += [
            (their.q.weight, our.query.kernel),
            (their.k.weight, our.key.kernel),
            (their.v.weight, our.value.kernel),
            (their.o.weight, our.output_projection.kernel),
        ]
    for part, norm in zip(theirs, [*norms, ours.feedforward_norm], strict=True):
        pairs.append((part.layer_norm.weight, norm.scale))
    dense = theirs[-1].DenseReluDense
    return [
        *pairs,
        (dense.wi_0.weight, ours.feedforward.gate.kernel),
        (dense.wi_1.weight, ours.feedforward.up.kernel),
        (dense.wo.weight, ours.feedforward.down.kernel),
    ]


def one_sentence_a_row():
    rng = np.random.default_rng(5)
    sides = []
    for length, ends in ((90, (90, 61, 4)), (7, (7, 3, 5))):
        ids = rng.integers(3, VOCABULARY, (3, length))
        segments = np.arange(length) < np.array(ends)[:, None]
        sides += [(ids * segments).astype("int32"), segments.astype("int32")]
    return tuple(sides)


def decoded(theirs, source, source_segments, target, target_segments):
    shifted = np.array(shift_right(target, target_segments))
    return theirs(
        input_ids=torch.from_numpy(source).long(),
        attention_mask=torch.from_numpy(source_segments),
        decoder_input_ids=torch.from_numpy(shifted).long(),
        decoder_attention_mask=torch.from_numpy(target_segments),
        use_cache=False,
    ).logits
