"""Simulated runs with their laws and recommendation: one of each for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components.report import simulated_run


@pytest.fixture(scope="session")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two tasks, fitted on losses."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    simulated_run.recommended(folder)
    return folder


@pytest.fixture(scope="session")
def chrf_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two tasks, fitted on chrF."""
    folder = tmp_path_factory.mktemp("runs") / "chrf"
    simulated_run.recommended_on_chrf(folder)
    return folder
