"""Artifacts that are current: kept, and what is said of them."""

from __future__ import annotations

import logging

from components.artifacts import manifest


def test_an_artifact_that_other_code_made_is_kept_and_said_to_be(
    tmp_path, caplog, monkeypatch
):
    def make(folder):
        (folder / "laws.json").write_text("{}")
        return {}

    def complete():
        return manifest.complete(
            "fit", tmp_path / "fit", config={}, inputs={}, make=make
        )

    made = complete()
    caplog.set_level(logging.INFO)
    assert complete() == made
    assert caplog.messages == ["fit: up to date"]
    monkeypatch.setattr(manifest, "code_of", lambda verb: "edited")
    assert complete() == made
    assert "up to date, but other code made it; --force" in caplog.messages[-1]


def test_the_code_of_a_step_is_its_own_and_what_it_shares():
    digests = {verb: manifest.code_of(verb) for verb in ("ingest", "fit", "recommend")}
    assert len(set(digests.values())) == 3
    assert manifest.code_of("select-models") == manifest.code_of("select")
