"""The whole tokenize step on small text, with real Beam and SentencePiece."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

import numpy as np
import pytest

from components import tokenize
from components.artifacts.text_shards import read_shard, shard_bytes, split_shards
from components.artifacts.token_index import TokenIndex
from components.artifacts.token_rows import NO_SENTENCE, load_rows
from components.tokenize.vocabulary import EOS, PAD, Vocabulary
from models.errors import UserError
from tests.components.tokenize.small_ingest import write_manifest

TASKS = ("en-de", "en-zh")
WORDS = {
    "en": ["the", "small", "house", "river", "goes", "by", "a", "mountain", "it’s"],
    "de": ["das", "kleine", "Haus", "Fluß", "geht", "an", "ein", "Gebirge", "grün"],
    "zh": ["这", "小", "房子", "河流", "去", "旁边", "一", "山", "绿色"],
}


def sentence(rng: random.Random, language: str, words: int) -> str:
    gap = "" if language == "zh" else " "
    return gap.join(rng.choices(WORDS[language], k=words)) + "。."[language != "zh"]


def an_ingest(directory: Path) -> Path:
    """An artifact of ingest: two shards to train on, one test set with entropies."""
    rng = random.Random(3)
    for task in TASKS:
        source, target = task.split("-")
        (directory / task).mkdir(parents=True)
        for name, count in (
            ("train-00000-of-00002", 300),
            ("train-00001-of-00002", 200),
        ):
            records = []
            for _ in range(count):
                words = rng.randint(1, 7)
                records.append(
                    {
                        "source": sentence(rng, source, words),
                        "target": sentence(rng, target, words),
                    }
                )
            path = directory / task / f"{name}.jsonl.gz"
            path.write_bytes(shard_bytes(records))
        tests = [
            {
                "source": sentence(rng, source, words),
                "target": sentence(rng, target, words),
                "origin": rng.choice(["source", "target"]),
                "nats": rng.random() * 5,
            }
            for words in [6, 1, 7, 40, 6, 2, 7, 5, 40, 3, 1, 7, 2, 1]
        ]
        path = directory / task / "in_domain-00000-of-00001.jsonl.gz"
        path.write_bytes(shard_bytes(tests))
    write_manifest(directory, {})
    return directory


def a_config(**options) -> tokenize.Config:
    settings = {"vocabulary_size": 90, "source_length": 48, "target_length": 40}
    return tokenize.Config(**{**settings, **options})


def run(ingest: Path, output: Path, tasks=TASKS, **options) -> Path:
    tokenize.run(a_config(**options), ingest=ingest, tasks=tasks, output=output)
    return output


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("tokens")
    ingest = an_ingest(base / "ingest")
    return ingest, run(ingest, base / "tokenize")


def rows_of(output: Path, task: str, split: str) -> np.ndarray:
    return np.concatenate(load_rows(output, task, split).shards)


def read_back(output: Path, task: str, split: str) -> list[tuple[str, str]]:
    """The text of every pair in the rows of a split."""
    vocabulary = Vocabulary.load(output)
    rows = rows_of(output, task, split)
    pairs = []
    for row, count in enumerate(rows["examples"]):
        for segment in range(1, count + 1):
            texts = [
                vocabulary.decode(
                    rows[f"{side}_ids"][row][rows[f"{side}_segments"][row] == segment]
                )
                for side in ("source", "target")
            ]
            pairs.append(tuple(texts))
    return pairs


def text_of(ingest: Path, task: str, split: str) -> list[tuple[str, str]]:
    return [
        (record["source"], record["target"])
        for path in split_shards(ingest / task, split)
        for record in read_shard(path)
    ]


def test_text_comes_back_from_the_packed_rows(made):
    ingest, output = made
    for task in TASKS:
        assert sorted(read_back(output, task, "train")) == sorted(
            text_of(ingest, task, "train")
        )


def test_rows_have_static_shapes_tags_and_an_end_for_each_sentence(made):
    _, output = made
    vocabulary = Vocabulary.load(output)
    for task, tag in (("en-de", "<2de>"), ("en-zh", "<2zh>")):
        rows = rows_of(output, task, "train")
        assert rows["source_ids"].shape[1:] == (48,)
        assert rows["target_ids"].shape[1:] == (40,)
        firsts = np.diff(rows["source_segments"], axis=1, prepend=0) == 1
        firsts &= rows["source_segments"] > 0
        assert set(rows["source_ids"][firsts]) == {vocabulary.tag_id(tag)}
        pairs = rows["examples"].sum()
        for side in ("source", "target"):
            ids, segments = rows[f"{side}_ids"], rows[f"{side}_segments"]
            assert np.count_nonzero(ids == EOS) == pairs
            assert ((ids == PAD) == (segments == 0)).all()
            assert (segments.max(1) == rows["examples"]).all()
            assert ids.max() < vocabulary.size == 90


def test_a_test_set_says_which_sentence_each_segment_is(made):
    ingest, output = made
    for task in TASKS:
        rows = rows_of(output, task, "in_domain")
        paths = split_shards(ingest / task, "in_domain")
        tests = list(read_shard(paths[0]))
        texts = read_back(output, task, "in_domain")
        there = rows["sentence_ids"] != NO_SENTENCE
        assert (there.sum(1) == rows["examples"]).all()
        numbers = rows["sentence_ids"][there].tolist()
        assert sorted(numbers) == [0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13]
        assert numbers != sorted(numbers)  # a later short one fits an earlier row
        for number, text in zip(numbers, texts, strict=True):
            assert text == (tests[number]["source"], tests[number]["target"])
        origins = [tests[number]["origin"] for number in numbers]
        assert rows["origins"][there].tolist() == origins
        assert (rows["origins"][~there] == "").all()
        nats = sum(tests[number]["nats"] for number in numbers)
        index = TokenIndex.load(output)
        assert index.tasks[task].splits["in_domain"].nats == pytest.approx(nats)


def test_the_index_counts_what_is_in_the_files(made):
    ingest, output = made
    index = TokenIndex.load(output)
    assert index.vocabulary_size == 90
    for task in TASKS:
        described = index.tasks[task]
        assert described.tag == f"<2{task[-2:]}>"
        for split, counts in described.splits.items():
            rows = rows_of(output, task, split)
            used = np.count_nonzero(rows["source_segments"])
            assert counts.source_tokens == used
            used += np.count_nonzero(rows["target_segments"])
            assert counts.fill == pytest.approx(used / (len(rows) * 88))
            assert counts.examples == rows["examples"].sum()
            assert counts.unknown_rate == counts.byte_rate == 0
            total = len(text_of(ingest, task, split))
            assert counts.examples + counts.dropped_too_long == total
        test = described.splits["in_domain"]
        assert (test.examples, test.dropped_too_long) == (12, 2)
        assert described.splits["train"].nats is None


def test_the_index_tells_lengths(made):
    ingest, output = made
    vocabulary = Vocabulary.load(output)
    for task, described in TokenIndex.load(output).tasks.items():
        for split, counts in described.splits.items():
            sides = zip(*text_of(ingest, task, split), strict=True)
            tags, told = (
                (described.tag, None),
                (
                    counts.source_lengths,
                    counts.target_lengths,
                ),
            )
            for texts, tag, found in zip(sides, tags, told, strict=True):
                _, lengths = vocabulary.encode(texts, tag)
                assert found.mean == pytest.approx(lengths.mean(), abs=0.006)
                assert found.median == statistics.median_low(lengths.tolist())
                assert found.longest == lengths.max()
                ordered = np.sort(lengths)
                assert found.p95 == ordered[int(np.ceil(0.95 * len(ordered))) - 1]


def test_a_pair_longer_than_a_row_is_a_dead_letter(made):
    _, output = made
    paths = sorted((output / "dead_letters").glob("en-de-in_domain*"))
    letters = list(read_shard(paths[0]))
    assert [(x["line"], x["rule"]) for x in letters] == [
        (4, "too_long"),
        (9, "too_long"),
    ]
    assert letters[0]["source_tokens"] > 40


def test_the_same_text_gives_the_same_bytes(made, tmp_path):
    ingest, output = made
    again = run(ingest, tmp_path / "again", beam_options=("--direct_num_workers=2",))
    names = [p.relative_to(output) for p in output.rglob("*") if p.is_file()]
    assert len(names) == 1 + 1 + 1 + 2 * 3 + 2
    for name in names:
        if name.name != "manifest.json":
            assert (again / name).read_bytes() == (output / name).read_bytes()


def test_one_target_language_needs_no_tag(made, tmp_path):
    ingest, _ = made
    output = run(ingest, tmp_path / "one", tasks=("en-de",), vocabulary_size=44)
    assert TokenIndex.load(output).tasks["en-de"].tag is None
    source = rows_of(output, "en-de", "train")["source_ids"]
    vocabulary = Vocabulary.load(output)
    assert vocabulary.decode(source[0][:12]).split()[0] in WORDS["en"]
    with pytest.raises(UserError, match="<2de> is not in the vocabulary"):
        vocabulary.tag_id("<2de>")


def test_a_shard_without_pairs_is_a_file_without_rows(made, tmp_path):
    ingest, _ = made
    pairs = text_of(ingest, "en-de", "train")
    (tmp_path / "en-de").mkdir()
    records = [{"source": source, "target": target} for source, target in pairs]
    for index, part in enumerate((records, [])):
        name = f"train-0000{index}-of-00002.jsonl.gz"
        (tmp_path / "en-de" / name).write_bytes(shard_bytes(part))
    (tmp_path / "manifest.json").write_bytes((ingest / "manifest.json").read_bytes())
    output = run(tmp_path, tmp_path / "x", tasks=("en-de",), vocabulary_size=44)
    assert sorted(read_back(output, "en-de", "train")) == sorted(pairs)
    assert len(np.load(output / "en-de" / "train-00001-of-00002.npy")) == 0


def test_rows_too_short_for_any_pair_are_explained(made, tmp_path):
    ingest, _ = made
    long = [pair for pair in text_of(ingest, "en-de", "train") if len(pair[0]) > 30]
    (tmp_path / "en-de").mkdir()
    path = tmp_path / "en-de" / "train-00000-of-00001.jsonl.gz"
    records = [{"source": source, "target": target} for source, target in long]
    path.write_bytes(shard_bytes(records))
    (tmp_path / "manifest.json").write_bytes((ingest / "manifest.json").read_bytes())
    options = {"vocabulary_size": 40, "source_length": 4, "target_length": 4}
    with pytest.raises(UserError, match=r"all \d+ pairs of train are longer than 4"):
        run(tmp_path, tmp_path / "x", tasks=("en-de",), **options)


def test_a_task_that_was_not_ingested_is_named(made, tmp_path):
    ingest, _ = made
    with pytest.raises(UserError, match="no shards of task en-fr"):
        run(ingest, tmp_path / "x", tasks=("en-de", "en-fr"))
