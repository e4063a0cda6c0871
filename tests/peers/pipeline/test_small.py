"""Every shipped study ends: its small twin runs from text to page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline import cli
from pipeline.experiment import SHIPPED

WORDS = "one two three four five six seven eight nine ten".split()


# The papers' studies; tests/pipeline/test_tiny_run.py runs what quickstart is.
STUDIES = ("de_zh_en", "en_de_depths", "en_de_fr", "en_de_fr_zh", "en_de_zh")


def test_every_study_is_here():
    others = {"quickstart", "parallel_text"}
    assert {path.stem for path in SHIPPED.glob("*.yaml")} == {*STUDIES, *others}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs_to_its_page(name, tmp_path):
    workdir = tmp_path / "run"
    command = ["run", name, "--small", "--jobs", "2", "--workdir", str(workdir)]
    if name == "de_zh_en":  # the synthetic source has one source language
        text = ", ".join(
            f"{task}: {{source: {own}, target: {english}}}"
            for task, own, english in (
                ("de-en", *corpus(tmp_path, "de")), ("zh-en", *corpus(tmp_path, "zh"))
            )
        )  # fmt: skip
        command += ["--set", f"ingest.text={{{text}}}"]
    assert cli.main(command) == 0
    assert (workdir / "report" / "index.html").is_file()
    assert json.loads((workdir / "report" / "summary.json").read_text())["trials"]


def corpus(folder: Path, language: str) -> tuple[Path, Path]:
    """Sentences in a language of our own, and what they mean."""
    own, english = folder / f"train.{language}", folder / f"train.{language}.en"
    sentences = [
        [WORDS[(i * k + i // 7) % len(WORDS)] for k in range(3, 7 + i % 5)]
        for i in range(3000)
    ]
    english.write_text("".join(f"{' '.join(s)} {i}\n" for i, s in enumerate(sentences)))
    own.write_text(
        "".join(
            f"{' '.join(language + word[::-1] for word in s)} {i}\n"
            for i, s in enumerate(sentences)
        )
    )
    return own, english
