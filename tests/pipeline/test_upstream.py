"""What a single step says of artifacts that were made with other settings."""

from __future__ import annotations

import dataclasses
import logging

from components.artifacts import manifest
from pipeline.experiment import load
from pipeline.steps import Context
from pipeline.upstream import warn_of_changes

TEXT = """\
name: tiny
cohort: en-xx
tasks: [en-de, en-fr]
train:
  sizes: [2k, 5k, 9k, 37k, 74k]
  mixtures: [0.1, 0.3, 0.5, 0.9]
  steps: 300
"""


def make(context: Context, verb: str, config: object, **inputs: str) -> None:
    made = {name: context.place(source) for name, source in inputs.items()}
    place = context.place(verb)
    manifest.complete(verb, place, config=config, inputs=made, make=lambda _: {})


def test_a_change_upstream_is_said_once_and_in_one_line(tmp_path, caplog):
    path = tmp_path / "tiny.yaml"
    path.write_text(TEXT, encoding="utf-8")
    loaded = load(path)
    context = Context(experiment=loaded, root=tmp_path, workdir=tmp_path / "work")
    trials = [trial.id for trial in loaded.trials]
    make(context, "ingest", loaded.ingest)
    make(context, "tokenize", loaded.tokenize, ingest="ingest")
    sweep = {"config": loaded.train, "trials": trials}
    make(context, "train", sweep, tokens="tokenize")
    caplog.set_level(logging.WARNING)
    warn_of_changes(context, "evaluate")
    assert not caplog.messages

    now = load(path, ["train.steps=400", "train.seeds=[1]"])
    warn_of_changes(dataclasses.replace(context, experiment=now), "evaluate")
    (line,) = caplog.messages
    assert "train.steps=300 (now 400)" in line and "other trials" in line
    assert "`polyscale train` makes it again" in line

    caplog.clear()
    changed = dataclasses.replace(loaded.tokenize, vocabulary_size=77)
    make(context, "tokenize", changed, ingest="ingest")
    warn_of_changes(context, "evaluate")
    tokenized, trained = caplog.messages
    assert "tokenize.vocabulary_size=77" in tokenized
    assert "made with another tokenize" in trained
    caplog.clear()
    warn_of_changes(context, "tokenize")
    assert not caplog.messages
