"""One small trained sweep for all tests that need one."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.evaluate.config import Quality
from tests.components.evaluate import small_sweep


@pytest.fixture(scope="session")
def sweep(tmp_path_factory) -> Path:
    """A folder with the artifacts ``ingest``, ``tokenize`` and ``train``."""
    return small_sweep.make(tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="session")
def measured(sweep, tmp_path_factory) -> Path:
    """Evaluated with BLEU, chrF++ and a metric that is not installed."""
    quality = Quality(metrics=("bleu", "comet", "chrf++"))
    return small_sweep.evaluated(
        sweep, tmp_path_factory.mktemp("measured") / "evaluate", quality
    )
