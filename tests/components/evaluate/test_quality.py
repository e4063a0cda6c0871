"""Translations of a trained sweep: scores, files, and what cannot be had."""

from __future__ import annotations

import dataclasses
import shutil

import pytest
from sacrebleu.metrics import BLEU, CHRF

from components import tokenize
from components.artifacts import metrics_table
from components.evaluate import quality
from components.evaluate.config import Quality
from components.evaluate.overlap_metrics import streams
from components.evaluate.quality_record import QualityRecord
from components.evaluate.translation import load_sentences, translation_path
from components.fit import table as fit_table
from components.serve.trained import load_trained
from models.errors import FieldError, UserError
from models.nmt.search_options import SearchOptions
from tests.components.evaluate import small_sweep
from tests.components.evaluate.small_sweep import evaluated

FIRST, SECOND = (trial.id for trial in small_sweep.TRIALS)


@pytest.fixture(scope="module")
def finals(measured):
    rows = metrics_table.load(measured / "metrics.csv")
    return {
        (row.trial, row.task, row.test_set, row.origin): row
        for row in rows
        if row.loss_kind == "final"
    }


def test_scores_are_those_of_sacrebleu_on_the_files(measured, finals):
    path = translation_path(measured, FIRST, "en-de", "news")
    sentences = load_sentences(path)
    written = [one.hypothesis for one in sentences]
    first = [one.references[0] for one in sentences]
    second = [(*one.references, None)[1] for one in sentences]
    assert sum(text is not None for text in second) == 8
    row = finals[FIRST, "en-de", "news", "mixed"]
    bleu = BLEU()
    assert row.bleu == pytest.approx(bleu.corpus_score(written, [first, second]).score)
    assert row.bleu_signature == str(bleu.get_signature())
    assert (
        row.bleu_signature.startswith("nrefs:var|") and "tok:13a" in row.bleu_signature
    )
    chrf = CHRF(word_order=2)
    assert row.chrf == pytest.approx(chrf.corpus_score(written, [first, second]).score)
    assert "nw:2" in row.chrf_signature


def test_halves_are_scored_on_their_own(measured, finals):
    path = translation_path(measured, FIRST, "en-fr", "news")
    sentences = load_sentences(path)
    for origin in ("source", "target"):
        own = [one for one in sentences if one.origin == origin]
        expected = BLEU().corpus_score(
            [one.hypothesis for one in own], streams([one.references for one in own])
        )
        row = finals[FIRST, "en-fr", "news", origin]
        assert row.bleu == pytest.approx(expected.score)
        assert row.sentence_count == len(own)
    assert {key[3] for key in finals if key[2] == "in_domain"} == {"mixed"}


def test_it_has_learned_to_translate(finals):
    assert finals[SECOND, "en-de", "in_domain", "mixed"].bleu > 60
    assert finals[FIRST, "en-fr", "in_domain", "mixed"].bleu > 40


def test_a_task_never_seen_is_not_translated_unless_asked(measured, finals):
    row = finals[SECOND, "en-fr", "in_domain", "mixed"]
    assert row.bleu is None and row.bleu_signature is None and row.loss > 3
    assert not translation_path(measured, SECOND, "en-fr", "in_domain").exists()


def test_what_is_not_installed_is_said_and_the_rest_computed(measured, finals):
    record = QualityRecord.load(measured)
    (problem,) = record.problems
    assert problem.startswith("comet is left out: not installed; pip install")
    assert record.metrics == ("bleu", "chrf++")
    assert all(row.comet is None for row in finals.values())
    scores = [score for score in record.scores if score.test_set == "news"]
    assert {score.sentences for score in scores if score.origin == "mixed"} == {31}
    assert scores[0].metrics["bleu"] == finals[FIRST, "en-de", "news", "mixed"].bleu


def test_the_table_can_be_fitted_on_a_metric(measured):
    rows = metrics_table.load(measured / "metrics.csv")
    scores = [row.bleu for row in rows if row.bleu is not None]
    assert len(scores) == 3 * 4
    lines = fit_table.read(measured, "bleu")
    # A model this small may translate its sentences perfectly on some machines.
    below = sum(score < 100 - 1e-6 for score in scores)
    assert sum(line["bleu"] is not None for line in lines) == below


def test_other_metrics_need_no_second_translation(sweep, measured, monkeypatch):
    """Nor does a run that was stopped after it had translated."""

    def refuse(*_):
        raise AssertionError("translated again")

    monkeypatch.setattr(quality, "Translator", refuse)
    output = measured.parent / "again"
    shutil.copytree(
        measured.with_name(f".{measured.name}.translations"),
        output.with_name(f".{output.name}.translations"),
    )
    evaluated(sweep, output, Quality(metrics=("chrf",)))
    rows = metrics_table.load(output / "metrics.csv")
    assert any(row.chrf and "nw:0" in row.chrf_signature for row in rows)
    assert all(row.bleu is None for row in rows)
    with pytest.raises(AssertionError, match="translated again"):
        other = Quality(metrics=("chrf",), search=SearchOptions(beams=2))
        evaluated(sweep, measured.parent / "other", other)


def test_a_curve_of_quality(sweep, measured):
    """Early weights translate worse, and the last ones as the final row says."""
    asked = Quality(
        metrics=("chrf",), test_sets=("in_domain",), curve=True,
        search=SearchOptions(beams=1),
    )  # fmt: skip
    output = evaluated(sweep, measured.parent / "curve", asked)
    rows = [
        row
        for row in metrics_table.load(output / "metrics.csv")
        if row.trial == SECOND and row.task == "en-de" and row.test_set == "in_domain"
    ]
    curve = sorted((row.step, row.chrf) for row in rows if row.loss_kind == "curve")
    assert len(curve) == 6 and curve[0][1] < curve[-1][1] - 5
    (final,) = [row for row in rows if row.loss_kind == "final"]
    assert (final.step, final.chrf) == curve[-1]
    folder = output / "hypotheses" / SECOND
    assert len(list(folder.glob("step-*/en-de.in_domain.tsv"))) == 5
    assert (folder / "en-de.in_domain.tsv").is_file()


def test_without_quality_no_text_is_read(sweep, tmp_path):
    output = evaluated(sweep, tmp_path / "evaluate", None)
    assert not (output / "quality.json").exists()
    assert not (output / "hypotheses").exists()


def test_an_unknown_test_set_is_refused(sweep, tmp_path):
    with pytest.raises(UserError, match="no test set wmt19; there are in_domain, news"):
        evaluated(sweep, tmp_path / "evaluate", Quality(test_sets=("wmt19",)))


def test_a_vocabulary_of_the_same_size_but_another_text_is_refused(sweep, tmp_path):
    small_sweep.write_ingest(tmp_path / "ingest", seed=6)
    tokenize.run(
        tokenize.Config(vocabulary_size=66, source_length=24, target_length=24),
        ingest=tmp_path / "ingest",
        tasks=small_sweep.TASKS,
        output=tmp_path / "tokenize",
    )
    with pytest.raises(
        UserError, match="trained with another vocabulary than .*tokens"
    ):
        load_trained(sweep / "train" / FIRST, tmp_path / "tokenize")
    shutil.copytree(sweep / "train", tmp_path / "train")
    with pytest.raises(UserError, match="trained with another vocabulary or text"):
        evaluated(tmp_path, tmp_path / "evaluate", None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"metrics": ()}, "metrics"),
        ({"metrics": ("bleu", "bleu")}, "metrics"),
        ({"metrics": ("chrf", "chrf++")}, "metrics"),
        ({"metrics": ("bleurt",)}, "bleurt"),
    ],
)
def test_a_configuration_that_cannot_be(changes, field):
    with pytest.raises(FieldError) as caught:
        dataclasses.replace(Quality(), **changes)
    assert caught.value.field == field
