"""Selection by what fine-tuning changes, with real models and real Beam."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from components import select, tokenize
from components.ingest.config import TextTask
from components.manifest import load
from components.select.config import Contrastive
from components.select.contrastive import Contrast
from components.select.layout import MODELS
from components.text_shards import read_shard, split_shards
from components.tokenize.reader import load_index
from components.tokenize.vocabulary import Vocabulary
from components.train.layout import WEIGHTS
from models.errors import FieldError, UserError
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
        "tuning_rate": 0.1,
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
    from components import checkpoints

    folder = made / ".select-models"
    stack, _ = checkpoints.load(folder / "models" / MODELS)
    single = [{name: array[i] for name, array in stack.items()} for i in range(3)]
    vocabulary = Vocabulary.load(folder / "tokenize")
    records, scores = scored(made, "en-zh")
    for number in (0, 37, COUNT - 1):
        pair = records[number]
        source, _ = vocabulary.encode([pair["source"]], "<2zh>")
        target, _ = vocabulary.encode([pair["target"]])
        before, *after = (nats(one, [*source], [*target]) for one in single)
        expected = sum(before - one for one in after) / len(target)
        assert scores[number] == pytest.approx(expected, abs=2e-4)
    assert np.std(scores) > 0.01


@pytest.mark.slow
def test_the_models_are_the_trainers_and_what_came_of_them(made):
    from components import checkpoints

    folder = made / ".select-models"
    stack, record = checkpoints.load(folder / "models" / MODELS)
    (weights,) = folder.glob(f"train/*/{WEIGHTS}")
    noisy, _ = checkpoints.load(weights)
    assert record["size"] == "2k"
    for name, arrays in stack.items():
        assert (arrays[0] == noisy[name]).all()
    for one, other in ((0, 1), (0, 2), (1, 2)):
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
    index = load_index(folder / "tokenize")
    vocabulary = Vocabulary.load(folder / "tokenize").serialised
    tag = index["tasks"]["en-de"]["tag"]
    contrast = Contrast("en-de", tag, folder / "models", "key", vocabulary, ROWS)
    rows = [row for row in pairs("en-de", 30, seed=9) if row[2] == "clean"]
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    alone = contrast.scores(sources, targets)
    far = " ".join(sources[:4]), " ".join(targets[:4])
    mixed = contrast.scores([*sources, far[0]], [*targets, far[1]])
    np.testing.assert_allclose(mixed[:-1], alone, atol=2e-5)
    assert np.isfinite(mixed[-1])
    endless = contrast.scores([sources[0]], ["ba " * 3000])
    assert np.isfinite(endless).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trusted": {}, "in_domain": {}}, "trusted: missing; expected task: "),
        ({"steps": 0}, "steps: 0 must be at least 1"),
        ({"warmup_steps": 61}, "warmup_steps: 61 is more than the 60 steps"),
        ({"tuning_rate": 0.0}, "tuning_rate: 0 must be positive"),
    ],
)
def test_a_wrong_option_is_refused(changed, message):
    with pytest.raises(FieldError) as caught:
        options(**changed)
    assert message in str(caught.value)


def test_trusted_text_that_is_not_there_is_named(tmp_path):
    write_ingest(tmp_path / "ingest", 200)
    with pytest.raises(UserError, match=r"en-de\.source: no file"):
        run(tmp_path, tmp_path / "select", options())
    assert not (tmp_path / "select").exists()
