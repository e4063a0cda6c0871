"""A sweep in bfloat16, down to the metrics table."""

import pytest

from components import evaluate
from components.artifacts import metrics_table
from components.artifacts.trial import Trial
from components.train import run
from components.train.config import Config
from tests.components.train.sweep_data import TASKS
from tests.components.train.token_files import write_tokens

pytestmark = pytest.mark.slow

CONFIG = Config(
    sizes=("2k",),
    mixtures=(0.3, 0.8),
    steps=120,
    steps_per_execution=20,
    batch_tokens=60,
    warmup_steps=20,
    evaluations=2,
    ema_decay=0.9,
    precision="mixed_bfloat16",
)


@pytest.mark.usefixtures("bfloat16")
def test_losses_are_exact_whatever_the_precision_of_training(tmp_path):
    """`evaluate` loads the weights in float32 and refuses to differ from the curve."""
    write_tokens(tmp_path / "tokens")
    trials = tuple(
        Trial("en-xx", "2k", tuple(zip(TASKS, (p, 1 - p), strict=True)))
        for p in (0.3, 0.8)
    )
    places = {"tokens": tmp_path / "tokens"}
    run(CONFIG, trials=trials, output=tmp_path / "train", **places)
    evaluate.run(
        evaluate.Config(),
        train=tmp_path / "train",
        output=tmp_path / "evaluate",
        **places,
    )
    rows = metrics_table.load(tmp_path / "evaluate" / "metrics.csv")
    finals = [row for row in rows if row.loss_kind == "final"]
    assert len(finals) == len(trials) * len(TASKS)
    assert all(1 < row.loss < 5 for row in finals)
