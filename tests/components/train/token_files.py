"""An artifact of ``tokenize`` on disk, without Beam: the rows of `sweep_data`."""

import io
import json

import numpy as np
import sentencepiece

from components.artifacts import manifest
from components.tokenize import records
from components.tokenize.layout import FORMAT, VERSION
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


def columns_of(rows):
    """The columns of `packed_rows` as a file of ``tokenize`` has them."""
    found = {}
    for side in ("source", "target"):
        segments = rows[f"{side}_segments"]
        found[f"{side}_ids"] = rows[f"{side}_ids"]
        found[f"{side}_segments"] = segments
        found[f"{side}_positions"] = np.zeros_like(segments)
    return found | {"examples": rows["examples"][:, None]}


def write_shard(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records.frame(records.examples(columns))))


def split_counts(rows, files):
    """What ``index.json`` says of a split."""
    return {
        "rows": len(rows["examples"]),
        "examples": int(rows["examples"].sum()),
        "target_tokens": int((rows["target_segments"] > 0).sum()),
        "dropped_too_long": 0,
        "nats": None,
        "files": files,
    }


def write_tokens(folder, *, train_rows=(60, 40), shards=2):
    """Writes and seals an artifact; returns the training rows of each task."""
    rng = np.random.default_rng(0)
    tasks, written = {}, []
    for shift, (task, count) in enumerate(zip(TASKS, train_rows, strict=True)):
        rows = packed_rows(rng, count, shift)
        columns = columns_of(rows)
        files = [f"{task}/train-{part}.tfrecord" for part in range(shards)]
        bounds = [count * part // shards for part in range(shards + 1)]
        for name, first, last in zip(files, bounds, bounds[1:], strict=False):
            part = {key: value[first:last] for key, value in columns.items()}
            write_shard(folder / name, part)
        test = packed_rows(rng, 7, shift)
        numbers = rng.permutation(14).reshape(7, 2).astype("int32")
        test_file = f"{task}/in_domain.tfrecord"
        sentence_ids = {"sentence_ids": list(numbers)}
        write_shard(folder / test_file, columns_of(test) | sentence_ids)
        splits = {"in_domain": split_counts(test, [test_file])}
        if count:
            splits["train"] = split_counts(rows, files)
        tasks[task] = {"tag": None, "splits": splits}
        written.append(rows)
    index = {
        "format": FORMAT,
        "version": VERSION,
        "vocabulary_size": VOCABULARY,
        "source_length": LENGTH,
        "target_length": LENGTH,
        "tasks": tasks,
    }
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "vocabulary.model").write_bytes(vocabulary_model())
    manifest.seal(folder, verb="tokenize", config={}, inputs={}, counts={}, seconds=1.0)
    return written
