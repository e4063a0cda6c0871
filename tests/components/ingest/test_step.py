"""The whole ingest step on small text, with real Beam."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components import ingest
from components.artifacts.text_shards import read_shard, split_shards, splits
from components.ingest.config import Config, SyntheticConfig, TextTask, TextTestSet
from components.ingest.duplicates.keys import comparable
from components.ingest.step import check_counts
from models.errors import FieldError, UserError
from tests.components.parallel_text import (
    TASKS,
    a_config,
    a_corpus,
    all_bytes,
    dead_letters,
    pairs_of,
    sides,
    write,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, int]]:
    base = tmp_path_factory.mktemp("text")
    read = a_corpus(base)
    ingest.run(a_config(), base=base, tasks=TASKS, output=base / "ingest")
    return base, read


def test_every_pair_read_is_accepted_or_a_dead_letter(made):
    base, read = made
    counts = json.loads((base / "ingest" / "counts.json").read_text())
    for task in TASKS:
        row = counts[task]
        train = pairs_of(base / "ingest", task, "train")
        test = pairs_of(base / "ingest", task, "in_domain")
        letters = dead_letters(base / "ingest", task)
        assert row["read"] == read[task] == len(train) + len(test) + len(letters)
        assert (row["train"], row["test"]) == (len(train), {"in_domain": 20})
        assert row["accepted"] == len(train) + 20
        assert sum(row["rejected"].values()) == len(letters)
        assert {"duplicate", "overlaps_test", "empty", "too_long"} <= set(
            row["rejected"]
        )
        assert len(set(train)) == len(train)


def test_a_dead_letter_says_where_and_why(made):
    base, _ = made
    lines = (base / "en-de.en").read_text().split("\n")
    letters = dead_letters(base / "ingest", "en-de")
    for letter in letters:
        assert letter["file"] == "en-de.en"
        assert " ".join(lines[letter["line"] - 1].split()) == letter["source"]
    empty = [letter for letter in letters if letter["rule"] == "empty"]
    assert [(letter["source"], letter["target"]) for letter in empty] == [
        ("", "nothing")
    ]


def test_no_side_of_a_test_sentence_is_in_any_training_data(made):
    base, _ = made
    trained = set().union(
        *(sides(pairs_of(base / "ingest", task, "train")) for task in TASKS)
    )
    for task in TASKS:
        tested = pairs_of(base / "ingest", task, "in_domain")
        assert not sides(tested) & trained
        assert len(set(comparable([source for source, _ in tested]))) == 20


def test_bytes_do_not_depend_on_order_of_lines_or_workers(made, tmp_path):
    base, _ = made
    first = all_bytes(base / "ingest")
    assert len(first) == 3 + 2 * (1 + 3 + 3)
    pieces = tmp_path / "pieces"
    for task in TASKS:
        for side in ("en", "xx"):
            lines = (base / f"{task}.{side}").read_text().splitlines()
            write(pieces / f"{task}.1.{side}", lines[200:])
            write(pieces / f"{task}.2.{side}", lines[:200])
    text = {task: TextTask(f"{task}.?.en", f"{task}.?.xx") for task in TASKS}
    config = a_config(text=text, beam_options=("--direct_num_workers=2",))
    ingest.run(config, base=pieces, tasks=TASKS, output=tmp_path / "ingest")
    second = all_bytes(tmp_path / "ingest")
    cards = [json.loads(files["card.json"]) for files in (first, second)]
    assert [len(card.pop("inputs")) for card in cards] == [2, 4]
    assert cards[0] == cards[1]
    named = ("dead_letters", "card.json", "README.md")  # they name files
    kept = [name for name in first if not name.startswith(named)]
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}


def test_another_seed_is_another_split(made, tmp_path):
    base, _ = made
    ingest.run(a_config(seed=9), base=base, tasks=TASKS, output=tmp_path / "ingest")
    assert pairs_of(tmp_path / "ingest", "en-de", "in_domain") != pairs_of(
        base / "ingest", "en-de", "in_domain"
    )


def test_with_a_share_nothing_moves_when_data_is_added(tmp_path):
    a_corpus(tmp_path)
    config = a_config(test_share=0.2, test_sentences=15)
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=tmp_path / "old")
    for side in ("en", "xx"):
        lines = (tmp_path / f"en-de.{side}").read_text().splitlines()
        write(tmp_path / f"en-de.{side}", lines + [f"new {i}" for i in range(300)])
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=tmp_path / "new")
    old_test = pairs_of(tmp_path / "old", "en-de", "in_domain")
    new_test = pairs_of(tmp_path / "new", "en-de", "in_domain")
    old_train = pairs_of(tmp_path / "old", "en-de", "train")
    new_train = pairs_of(tmp_path / "new", "en-de", "train")
    assert old_test != new_test
    assert not set(old_test) & set(new_train)
    assert not set(new_test) & set(old_train)
    counts = json.loads((tmp_path / "old" / "counts.json").read_text())
    assert counts["en-de"]["rejected"]["held_out"] > 0


def test_a_named_test_set_stays_whole_and_out_of_training(made, tmp_path):
    base, _ = made
    train = pairs_of(base / "ingest", "en-fr", "train")
    news = [
        ("brand new", "tout neuf"),
        (train[0][0] + "?", "autre"),
        ("2", train[5][1]),
    ]
    news += [("brand new", "tout neuf")]
    write(base / "news.en", [source for source, _ in news])
    write(base / "news.fr", [target for _, target in news])
    write(base / "news.origin", ["en", "fr", "mixed", "en"])
    tests = {"news": TextTestSet("news.en", "news.fr", origin="news.origin")}
    text = {
        "en-de": TextTask("en-de.en", "en-de.xx"),
        "en-fr": TextTask("en-fr.en", "en-fr.xx", test_sets=tests),
    }
    output = tmp_path / "ingest"
    ingest.run(a_config(text=text), base=base, tasks=TASKS, output=output)
    assert splits(output / "en-fr") == ["train", "in_domain", "news"]
    records = list(read_shard(split_shards(output / "en-fr", "news")[0]))
    assert [(r["source"], r["target"]) for r in records] == news
    assert [r["origin"] for r in records] == ["source", "target", "mixed", "source"]
    for task in TASKS:
        assert not sides(news) & sides(pairs_of(output, task, "train"))


def test_a_named_test_set_without_text_is_explained(made, tmp_path):
    base, _ = made
    write(base / "none.en", ["a", "b"])
    write(base / "none.fr", ["", " "])
    tests = {"none": TextTestSet("none.en", "none.fr")}
    text = {"en-fr": TextTask("en-fr.en", "en-fr.xx", test_sets=tests)}
    with pytest.raises(UserError, match="no pair of test set none has text"):
        config = a_config(text=text)
        ingest.run(config, base=base, tasks=("en-fr",), output=tmp_path / "x")


def test_synthetic_text_keeps_its_entropy_and_its_guarantees(tmp_path):
    synthetic = SyntheticConfig(train_sentences=600, test_sentences=80, nouns=8)
    config = ingest.Config(synthetic=synthetic, shards=2)
    output = tmp_path / "ingest"
    manifest = ingest.run(config, base=tmp_path, tasks=TASKS, output=output)
    for task in TASKS:
        counts = manifest.counts[task]
        assert counts["read"] == 680
        records = list(read_shard(split_shards(output / task, "in_domain")[0]))
        assert all(record["nats"] > 0 for record in records)
        assert len(records) == counts["test"]["in_domain"] > 40
        tested = pairs_of(output, task, "in_domain")
        assert len({source for source, _ in tested}) == len(tested)
        assert not sides(tested) & sides(pairs_of(output, task, "train"))


def test_a_current_artifact_is_not_made_again(made, caplog):
    base, _ = made
    before = (base / "ingest" / "manifest.json").stat().st_mtime_ns
    options = {"beam_options": ("--direct_num_workers=1",)}
    again = a_config(**options, synthetic=SyntheticConfig(seed=8))
    ingest.run(again, base=base, tasks=TASKS, output=base / "ingest")
    assert (base / "ingest" / "manifest.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"test_sentences": 0}, "test_sentences"),
        ({"test_share": 1.0}, "test_share"),
        ({"shards": 0}, "shards"),
        ({"seed": -1}, "seed"),
        ({"beam_options": ("--runner=DirectRunner",)}, "beam_options"),
        ({"beam_options": ("num_workers=2",)}, "beam_options"),
    ],
)
def test_options_out_of_range_are_field_errors(options, field):
    with pytest.raises(FieldError) as caught:
        a_config(**options)
    assert caught.value.field == field


def test_a_test_set_may_not_take_the_name_of_a_split():
    with pytest.raises(FieldError, match="test_sets.train"):
        TextTask("a", "b", test_sets={"train": TextTestSet("c", "d")})


def test_a_rule_that_takes_a_tenth_of_a_task_is_named(caplog):
    rejected = {"misaligned": 11, "too_long": 10, "duplicate": 40}
    row = {"read": 100, "accepted": 39, "rejected": rejected, "train": 29}
    counts = {"en-th": {**row, "test": {"in_domain": 10}}}
    config = Config(source="text", text={"en-th": TextTask("a", "b")}, test_sentences=9)
    check_counts(config, counts)
    (warning,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert "en-th: the rule misaligned rejects 11 % of the pairs" in warning
