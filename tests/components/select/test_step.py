"""The whole select step on small text, with real Beam."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from components import select, tokenize
from components.artifacts.manifest import load
from components.artifacts.text_shards import read_shard, split_shards
from components.artifacts.token_index import TokenIndex
from components.artifacts.token_rows import load_rows
from components.tokenize.vocabulary import Vocabulary
from models.errors import UserError
from tests.components.select.noisy_text import TASKS, pairs, write_ingest

COUNT = 1500


def run(ingest: Path, output: Path, tasks=TASKS, **options) -> Path:
    config = select.Config(**{"keep": {"en-de": 0.6}, **options})
    select.run(config, ingest=ingest, tasks=tasks, output=output)
    return output


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("select")
    ingest = write_ingest(base / "ingest", COUNT)
    return ingest, run(ingest, base / "select")


def text_of(folder: Path, task: str, split: str = "train") -> list[tuple[str, str]]:
    return [
        (record["source"], record["target"])
        for path in split_shards(folder / task, split)
        for record in read_shard(path)
    ]


def scores_of(output: Path, task: str) -> np.ndarray:
    return np.concatenate(
        [np.load(path) for path in sorted((output / task).glob("scores-*.npy"))]
    )


def ranks_above(scores: np.ndarray, kinds: np.ndarray, kind: str) -> float:
    """How often a clean pair has the better score than one of this kind."""
    clean, bad = scores[kinds == "clean"], scores[kinds == kind]
    return float((clean[:, None] > bad[None, :]).mean())


@pytest.mark.parametrize("task", TASKS)
def test_translations_rank_above_what_is_none(made, task):
    _, output = made
    kinds = {(s, t): kind for s, t, kind in pairs(task, COUNT)}
    ingested = text_of(made[0], task)
    labels = np.array([kinds[pair] for pair in ingested])
    scores = scores_of(output, task)["score"]
    assert len(scores) == COUNT
    assert ranks_above(scores, labels, "misaligned") > 0.95
    assert ranks_above(scores, labels, "copied") > 0.98


def test_exactly_the_share_asked_for_is_kept_in_its_order(made):
    ingest, output = made
    ingested, kept = text_of(ingest, "en-de"), text_of(output, "en-de")
    assert len(kept) == round(0.6 * COUNT)
    table = scores_of(output, "en-de")
    assert kept == [p for p, k in zip(ingested, table["kept"], strict=True) if k]
    assert table["score"][table["kept"]].min() >= table["score"][~table["kept"]].max()
    assert text_of(output, "en-zh") == text_of(ingest, "en-zh")  # not named: whole


def test_what_select_writes_is_what_it_counts(made):
    _, output = made
    counts = json.loads((output / "counts.json").read_text())
    assert counts == load(output).counts
    assert (counts["en-de"]["read"], counts["en-de"]["train"]) == (COUNT, 900)
    table = scores_of(output, "en-de")
    worst = table["score"][table["kept"]].min()
    assert counts["en-de"]["threshold"] == pytest.approx(worst, abs=1e-4)
    assert list(counts["en-de"]["quantiles"])[3] == "0.5"
    names = {path.name for path in output.rglob("*") if path.is_file()}
    assert not {name for name in names if name.startswith(".")}


def test_tokenize_reads_it_as_it_reads_ingest(made, tmp_path):
    ingest, output = made
    assert text_of(output, "en-de", "in_domain") == text_of(
        ingest, "en-de", "in_domain"
    )
    config = tokenize.Config(vocabulary_size=220, source_length=96, target_length=96)
    tokenize.run(config, ingest=output, tasks=TASKS, output=tmp_path / "tokenize")
    splits = TokenIndex.load(tmp_path / "tokenize").tasks["en-de"].splits
    assert splits["train"].examples == 900
    assert splits["in_domain"].examples == len(text_of(ingest, "en-de", "in_domain"))


def test_the_same_text_gives_the_same_bytes_with_several_workers(made, tmp_path):
    ingest, output = made
    again = run(ingest, tmp_path / "again", beam_options=("--direct_num_workers=2",))
    for path in sorted(output.rglob("*")):
        if path.is_file() and path.name != "manifest.json":
            other = again / path.relative_to(output)
            assert other.read_bytes() == path.read_bytes(), path.name
    assert load(again).key == load(output).key


@pytest.mark.slow
def test_and_with_several_processes(made, tmp_path):
    ingest, output = made
    several = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")
    again = run(ingest, tmp_path / "again", beam_options=several)
    for path in sorted((output / "en-de").iterdir()):
        assert (again / "en-de" / path.name).read_bytes() == path.read_bytes()


def test_a_step_that_is_done_is_not_done_again(made):
    ingest, output = made
    before = (output / "manifest.json").stat().st_mtime_ns
    run(ingest, output, beam_options=("--direct_num_workers=3",))
    assert (output / "manifest.json").stat().st_mtime_ns == before


def test_keeping_next_to_nothing_leaves_empty_shards_that_can_be_read(made, tmp_path):
    ingest, _ = made
    output = run(ingest, tmp_path / "select", tasks=("en-zh",), keep=1e-6)
    assert len(text_of(output, "en-zh")) == 1
    assert len(split_shards(output / "en-zh", "train")) == 3


def test_too_little_text_is_said_to_be_too_little(tmp_path):
    ingest = write_ingest(tmp_path / "ingest", count=60)
    with pytest.raises(UserError, match="select en-de: 60 training pairs of 60 diff"):
        run(ingest, tmp_path / "select")
    with pytest.raises(UserError, match="en-fr: no training shards; run ingest"):
        run(ingest, tmp_path / "select", tasks=("en-fr",))
    assert not (tmp_path / "select").exists()


def test_online_selection_writes_the_best_first(made, tmp_path):
    ingest, _ = made
    output = run(ingest, tmp_path / "online", keep=0.8, online=True)
    for task in TASKS:
        table = scores_of(output, task)
        score = dict(zip(text_of(ingest, task), table["score"], strict=True))
        written = text_of(output, task)
        assert len(written) == len(set(written)) == COUNT * 0.8
        found = np.array([score[pair] for pair in written])
        assert (np.diff(found) <= 0).all()
        assert found[-1] >= np.sort(table["score"])[: COUNT // 5].max()
        sizes = [
            sum(1 for _ in read_shard(path))
            for path in split_shards(output / task, "train")
        ]
        assert sizes == [400, 400, 400]
    again = run(
        ingest, tmp_path / "again", keep=0.8, online=True,
        beam_options=("--direct_num_workers=2",),
    )  # fmt: skip
    for path in (output / "en-de").iterdir():
        assert (again / "en-de" / path.name).read_bytes() == path.read_bytes()


def test_rows_packed_from_it_lie_in_the_order_of_their_scores(made, tmp_path):
    """So that the first rows of the table are the best: what `train.anneal` takes."""
    ingest, _ = made
    output = run(ingest, tmp_path / "online", keep=1.0, online=True)
    config = tokenize.Config(
        vocabulary_size=220, source_length=96, target_length=96, packing_window=256
    )
    tokenize.run(config, ingest=output, tasks=TASKS, output=tmp_path / "tokenize")
    vocabulary = Vocabulary.load(tmp_path / "tokenize")
    table = scores_of(output, "en-de")["score"]
    score = dict(zip((t for _, t in text_of(ingest, "en-de")), table, strict=True))
    rows = np.concatenate(load_rows(tmp_path / "tokenize", "en-de", "train").shards)
    means, spreads = [], []
    for ids, segments in zip(rows["target_ids"], rows["target_segments"], strict=True):
        own = [
            score[vocabulary.decode(ids[segments == number])]
            for number in range(1, segments.max() + 1)
        ]
        means.append(np.mean(own))
        spreads.append(np.ptp(own))
    # Packing loses the order within its windows: 1500 / 256 of them.
    windows = np.array_split(np.array(means), 6)
    levels = [window.mean() for window in windows]
    assert levels == sorted(levels, reverse=True)
    assert np.median(spreads) < 0.25 * np.ptp(table)
