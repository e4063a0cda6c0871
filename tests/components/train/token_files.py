"""An artifact of ``tokenize`` on disk, without Beam: the rows of `sweep_data`."""

import io

import numpy as np
import sentencepiece

from components.artifacts import manifest
from components.artifacts.token_index import (
    SentenceLengths,
    SplitTokens,
    TaskTokens,
    TokenIndex,
)
from components.artifacts.token_rows import SIDES, pack, shard_bytes
from tests.components.train.sweep_data import LENGTH, TASKS, VOCABULARY, packed_rows


def vocabulary_model():
    """The bytes of a small SentencePiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["abcdefghij klmnop"] * 3),
        model_writer=model,
        model_type="char",
        vocab_size=21,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def write_shard(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(shard_bytes(pack(columns, VOCABULARY)))


def split_counts(rows, files):
    """What ``index.json`` says of a split."""
    tokens = [int((rows[f"{side}_segments"] > 0).sum()) for side in SIDES]
    lengths = SentenceLengths(5.5, 5, 6, 6)
    return SplitTokens(
        len(rows["examples"]),
        int(rows["examples"].sum()),
        *tokens,
        dropped_too_long=0,
        unknown_rate=0.0,
        byte_rate=0.0,
        source_lengths=lengths,
        target_lengths=lengths,
        fill=(LENGTH - 1) / LENGTH,
        nats=None,
        files=tuple(files),
    )


def write_tokens(folder, *, train_rows=(60, 40), shards=2):
    """Writes and seals an artifact; returns the training rows of each task."""
    rng = np.random.default_rng(0)
    tasks, written = {}, []
    for shift, (task, count) in enumerate(zip(TASKS, train_rows, strict=True)):
        rows = packed_rows(rng, count, shift)
        files = [f"{task}/train-{part}.npy" for part in range(shards)]
        bounds = [count * part // shards for part in range(shards + 1)]
        for name, first, last in zip(files, bounds, bounds[1:], strict=False):
            part = {key: value[first:last] for key, value in rows.items()}
            write_shard(folder / name, part)
        test = packed_rows(rng, 7, shift)
        numbers = rng.permutation(14).reshape(7, 2).astype("int32")
        test_file = f"{task}/in_domain.npy"
        write_shard(folder / test_file, test | {"sentence_ids": numbers})
        splits = {"in_domain": split_counts(test, [test_file])}
        if count:
            splits["train"] = split_counts(rows, files)
        tasks[task] = TaskTokens(None, splits)
        written.append(rows)
    TokenIndex(VOCABULARY, LENGTH, LENGTH, tasks).save(folder)
    (folder / "vocabulary.model").write_bytes(vocabulary_model())
    manifest.seal(folder, verb="tokenize", config={}, inputs={}, counts={}, seconds=1.0)
    return written
