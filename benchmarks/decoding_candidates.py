"""Other decoders of the shape that `decoding_speed` measures: two layers a side, width
128, four heads, feed-forward 512, 4,000 ids; random weights.

Each is a function that prepares a decoder for a number of threads and returns
``search(sources, beams, lengths)``; calling one raises ``ImportError`` where its
package is not installed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

import numpy as np

VOCABULARY = 4000
Search = Callable[[Sequence[Sequence[int]], int, Sequence[int]], None]


def hugging_face(threads: int) -> Search:
    """`generate` of a T5 1.1; any lengths, batches of 32 in the order given."""
    import torch
    from transformers import LogitsProcessor, LogitsProcessorList

    torch.set_num_threads(threads)
    model = _t5()

    class EndsAt(LogitsProcessor):
        """Lets each sentence end at its length and nowhere else."""

        def __init__(self, lengths: Sequence[int], beams: int):
            self.lengths = torch.tensor(lengths).repeat_interleave(beams)

        def __call__(self, input_ids, scores):
            ends = self.lengths[: len(scores)] == input_ids.shape[1]
            scores[:, 1] = -1e9
            scores[ends] = -1e9
            scores[ends, 1] = 0.0
            return scores

    def batch(
        sources: Sequence[Sequence[int]], beams: int, lengths: Sequence[int]
    ) -> None:
        longest = max(map(len, sources))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in sources])
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=(ids > 0).long(),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=max(lengths),
                logits_processor=LogitsProcessorList([EndsAt(lengths, beams)]),
            )

    def search(
        sources: Sequence[Sequence[int]], beams: int, lengths: Sequence[int]
    ) -> None:
        for i in range(0, len(sources), 32):
            batch(sources[i : i + 32], beams, lengths[i : i + 32])

    return search


def ctranslate2(threads: int) -> Search:
    """float32; one length for all."""
    import ctranslate2

    loader = ctranslate2.converters.transformers.T5Loader()
    names = ["<pad>", "</s>", "<unk>", *(f"t{i}" for i in range(3, VOCABULARY))]
    spec = loader.get_model_spec(_t5())
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = "<pad>"
    spec.config.eos_token, spec.config.unk_token = "</s>", "<unk>"
    spec.validate()
    spec.optimize(quantization=None)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = ctranslate2.Translator(
            folder, intra_threads=threads, inter_threads=1, compute_type="float32"
        )

    def search(
        sources: Sequence[Sequence[int]], beams: int, lengths: Sequence[int]
    ) -> None:
        (length,) = set(lengths)
        translator.translate_batch(
            [[names[i] for i in row] for row in sources],
            beam_size=beams,
            min_decoding_length=length,
            max_decoding_length=length,
            max_batch_size=0,
        )

    return search


def keras_hub(threads: int) -> Search:
    """BART with `BeamSampler`, compiled; one length for all and for all sources."""
    import keras_hub as hub

    backbone = hub.models.BartBackbone(
        vocabulary_size=VOCABULARY,
        num_layers=2,
        num_heads=4,
        hidden_dim=128,
        intermediate_dim=512,
        max_sequence_length=64,
    )
    models = {}

    def search(
        sources: Sequence[Sequence[int]], beams: int, lengths: Sequence[int]
    ) -> None:
        (length,) = set(lengths)
        if beams not in models:
            sampler = (
                hub.samplers.BeamSampler(num_beams=beams)
                if beams > 1
                else hub.samplers.GreedySampler()
            )
            models[beams] = hub.models.BartSeq2SeqLM(backbone)
            models[beams].compile(sampler=sampler, jit_compile=True)
        ids = np.array(sources, np.int32)
        target = np.zeros((len(ids), length + 1), np.int32)
        target[:, 0] = 2
        models[beams].generate(
            {
                "encoder_token_ids": ids,
                "encoder_padding_mask": np.ones_like(ids),
                "decoder_token_ids": target,
                "decoder_padding_mask": (target > 0).astype(np.int32),
            },
            stop_token_ids=None,
        )

    return search


def _t5():
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=VOCABULARY,
        d_model=128,
        d_kv=32,
        d_ff=512,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    return T5ForConditionalGeneration(config).eval()
