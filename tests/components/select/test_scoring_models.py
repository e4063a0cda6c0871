"""Selection by what fine-tuning changes, with real models and real Beam."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest

from components import select, tokenize
from components.artifacts.manifest import load
from components.artifacts.text_shards import read_shard, shard_bytes, split_shards
from components.artifacts.token_index import TokenIndex
from components.artifacts.trial_folder import WEIGHTS
from components.ingest.config import TextTask
from components.select.config import MODELS, Contrastive
from components.select.contrastive_score import ContrastiveScore
from components.select.scoring_models import ScoringModels
from components.tokenize.vocabulary import Vocabulary
from models.errors import UserError
from tests.components.select.noisy_text import TASKS, pairs, write_ingest

ROWS = tokenize.Config(vocabulary_size=230, source_length=40, target_length=40)
COUNT = 600


def options(**changed) -> Contrastive:
    text = {task: TextTask(f"{task}.en", f"{task}.xx") for task in TASKS}
    settings = {
        "trusted": text,
        "in_domain": {task: TextTask(f"{task}.en", f"{task}.xx") for task in TASKS},
        "size": "2k",
        "steps": 60,
        "tuning_steps": 40,
        "tuning_epochs": 50,
        "tuning_rate": 0.1,
        "features": False,
        "warmup_steps": 10,
        "batch_tokens": 800,
    }
    return Contrastive(**{**settings, **changed})


def run(base: Path, output: Path, contrastive: Contrastive, **settings) -> None:
    select.run(
        select.Config(contrastive=contrastive, **settings),
        ingest=base / "ingest",
        tasks=TASKS,
        output=output,
        base=base,
        tokenize=ROWS,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Text with noise, and trusted text: clean pairs of the same toy languages."""
    base = tmp_path_factory.mktemp("contrastive")
    write_ingest(base / "ingest", COUNT, shards=2)
    for task in TASKS:
        good = [row for row in pairs(task, 400, seed=5) if row[2] == "clean"]
        for side, name in enumerate(("en", "xx")):
            lines = [f"{row[side]}\n" for row in good]
            (base / f"{task}.{name}").write_text("".join(lines), encoding="utf-8")
    run(base, base / "select", options())
    return base


def scored(base: Path, task: str) -> tuple[list[dict], np.ndarray]:
    paths = sorted((base / "select" / task).glob("scores-*.npy"))
    shards = split_shards(base / "ingest" / task, "train")
    records = [record for shard in shards for record in read_shard(shard)]
    return records, np.concatenate([np.load(path)["score"] for path in paths])


def nats(weights: dict[str, np.ndarray], source: list[int], target: list[int]) -> float:
    """Of one pair alone, under one model alone."""
    import keras

    from models.nmt.sizes import get_shape
    from models.nmt.transformer import Transformer

    model = Transformer(get_shape("2k"), ROWS.vocabulary_size)
    model.build()
    for variable in model.trainable_variables:
        variable.assign(weights[variable.path])
    sides = [np.array([ids]) for ids in (source, target)]
    fields = sides[0], np.ones_like(sides[0]), sides[1], np.ones_like(sides[1])
    return float(keras.ops.sum(model.token_losses(*fields)))


@pytest.mark.slow
def test_a_score_is_what_fine_tuning_saves_for_a_token(made):
    from components.artifacts import checkpoints

    folder = made / ".select-models"
    stack, _ = checkpoints.load(folder / "models" / MODELS)
    single = [{name: array[i] for name, array in stack.items()} for i in range(4)]
    vocabulary = Vocabulary.load(folder / "tokenize")
    records, scores = scored(made, "en-zh")
    for number in (0, 37, COUNT - 1):
        pair = records[number]
        source, _ = vocabulary.encode([pair["source"]], "<2zh>")
        target, _ = vocabulary.encode([pair["target"]])
        noisy, trusted, domain, worse = (nats(m, [*source], [*target]) for m in single)
        expected = (noisy + worse) / 2 - trusted + noisy - domain
        assert scores[number] == pytest.approx(expected / len(target), abs=2e-4)
    assert np.std(scores) > 0.01


@pytest.mark.slow
def test_the_models_are_the_trainers_and_what_came_of_them(made):
    from components.artifacts import checkpoints

    folder = made / ".select-models"
    stack, record = checkpoints.load(folder / "models" / MODELS)
    (weights,) = folder.glob(f"train/*/{WEIGHTS}")
    noisy, _ = checkpoints.load(weights)
    assert record["size"] == "2k"
    for name, arrays in stack.items():
        assert (arrays[0] == noisy[name]).all()
    for one, other in itertools.combinations(range(4), 2):
        moved = [np.abs(a[one] - a[other]).max() for a in stack.values()]
        assert min(moved) > 0


@pytest.mark.slow
def test_what_is_unlike_trusted_text_scores_lower(made):
    kinds = {(s, t): k for task in TASKS for s, t, k in pairs(task, COUNT)}
    for task in TASKS:
        records, scores = scored(made, task)
        labels = np.array([kinds[r["source"], r["target"]] for r in records])
        clean, copied = scores[labels == "clean"], scores[labels == "copied"]
        assert (clean[:, None] > copied[None, :]).mean() > 0.9


@pytest.mark.slow
def test_to_keep_another_share_trains_nothing_again(made, tmp_path):
    models = made / ".select-models" / "models" / "manifest.json"
    before, text = models.stat().st_mtime_ns, load(made / "select").key
    run(made, made / "select", options(), keep=0.25)
    assert load(made / "select").key != text
    assert load(made / "select").counts["en-de"]["train"] == COUNT // 4
    assert models.stat().st_mtime_ns == before


@pytest.mark.slow
def test_pairs_that_fit_in_no_row_are_scored_too(made):
    folder = made / ".select-models"
    index = TokenIndex.load(folder / "tokenize")
    vocabulary = Vocabulary.load(folder / "tokenize").serialised
    tag = index.tasks["en-de"].tag
    texts = ("trusted", "in_domain", "corrupted"), "both"
    models = folder / "models"
    contrast = ContrastiveScore("en-de", tag, models, "key", *texts, vocabulary, ROWS)
    rows = [row for row in pairs("en-de", 30, seed=9) if row[2] == "clean"]
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    alone = contrast.scores(sources, targets)
    far = " ".join(sources[:4]), " ".join(targets[:4])
    mixed = contrast.scores([*sources, far[0]], [*targets, far[1]])
    np.testing.assert_allclose(mixed[:-1], alone, atol=2e-5)
    assert np.isfinite(mixed[-1])
    endless = contrast.scores([sources[0]], ["ba " * 3000])
    assert np.isfinite(endless).all()


@pytest.mark.slow
def test_little_text_is_gone_through_a_few_times_only(made, tmp_path):
    """And with the cheap score the text is ranked by both."""
    folder = tmp_path / "select"
    shutil.copytree(made / ".select-models", tmp_path / ".select-models")
    changed = options(tuning_epochs=2, in_domain={}, against="noisy", features=True)
    run(made, folder, changed)
    tokens = tmp_path / ".select-models" / "tokenize-trusted"
    rows = sum(map(TokenIndex.load(tokens).training_rows, TASKS))
    steps = load(tmp_path / ".select-models" / "models").counts["steps"]
    assert 2 * rows / 20 <= steps < 2 * rows / 20 + 11  # 20 rows a batch, whole tens
    kinds = {(s, t): k for s, t, k in pairs("en-de", COUNT)}
    records, _ = scored(made, "en-de")
    paths = sorted((folder / "en-de").glob("scores-*.npy"))
    scores = np.concatenate([np.load(path)["score"] for path in paths])
    labels = np.array([kinds[r["source"], r["target"]] for r in records])
    clean = scores[labels == "clean"]
    for kind in ("misaligned", "copied"):
        assert (clean[:, None] > scores[labels == kind][None, :]).mean() > 0.8


def test_better_text_holds_no_test_sentence(tmp_path, caplog):
    """On neither side, of no task, and no further reference of one."""
    write_ingest(tmp_path / "ingest", 200)
    tests = {}
    for task in TASKS:
        (shard,) = split_shards(tmp_path / "ingest" / task, "in_domain")
        tests[task] = list(read_shard(shard))
        tests[task][3]["references"] = ["first of it", "Second reference of it"]
        shard.write_bytes(shard_bytes(tests[task]))
    sides = [(r["source"][:-1], r["target"][:-1]) for r in tests["en-de"]]
    other = tests["en-zh"][0]["source"]
    leaks = {
        (f"{sides[0][0].upper()}.", f"{sides[0][1]} ba."),
        (f"{sides[1][0]} di.", f"{sides[1][1]}!"),
        (f"{sides[2][1]}.", f"{sides[2][0]} zi."),  # on the other side
        ("Second references of it!", "second reference of it!"),
        (other, " ".join(reversed(other[:-1].split())) + "."),
    }
    for task in TASKS:
        own = [(s, t) for s, t, kind in pairs(task, 60, seed=7) if kind == "clean"]
        rows = own + (sorted(leaks) if task == "en-de" else [])
        for side, name in enumerate(("en", "xx")):
            lines = [f"{row[side]}\n" for row in rows]
            (tmp_path / f"{task}.{name}").write_text("".join(lines), encoding="utf-8")
    config = select.Config(contrastive=options(in_domain={}))
    models = ScoringModels(config, ROWS, TASKS, tmp_path, tmp_path / "models")
    found = models.read_better_text(tmp_path / "ingest")
    assert list(found) == ["trusted"]

    def texts_of(folder: Path, name: str) -> list[tuple[dict, tuple[str, str]]]:
        records = [r for path in split_shards(folder, name) for r in read_shard(path)]
        return [(record, (record["source"], record["target"])) for record in records]

    kept = {pair for _, pair in texts_of(found["trusted"] / "en-de", "train")}
    letters = texts_of(found["trusted"] / "dead_letters", "en-de")
    assert len(kept) > 30
    assert {p for r, p in letters if r["rule"] == "overlaps_test"} == leaks
    assert "5 pairs of the trusted text of en-de share a sentence" in caplog.text


def test_trusted_text_that_is_not_there_is_named(tmp_path):
    write_ingest(tmp_path / "ingest", 200)
    with pytest.raises(UserError, match=r"en-de\.source: no file"):
        run(tmp_path, tmp_path / "select", options())
    assert not (tmp_path / "select").exists()
