"""Samples of translations on the report's page."""

from __future__ import annotations

import dataclasses

import pytest

from components.artifacts.metrics_table import MetricsRow
from components.evaluate.translation import Sentence, Translation, translation_path
from components.report import samples

SIZES = {"5k": 5000, "9k": 9000, "15k": 15000}


def rows(sizes, mixtures=(0.2, 0.4, 0.9)):
    for size in sizes:
        for p in mixtures:
            row = MetricsRow(
                trial=f"{size}-{p}", cohort="c", size=size, seed=0, task="en-de", p=p,
                mixture=f"en-de={p},en-fr={1 - p:g}", test_set="news", n=SIZES[size],
                n_enc=1, n_dec=1, n_embedding=1, step=9, loss=1.0, loss_kind="final",
                bleu=SIZES[size] / 1000,
            )  # fmt: skip
            yield row
            yield dataclasses.replace(row, origin="source", bleu=1.0)


def write(workdir, row):
    sentences = tuple(
        Sentence("w" * (k + 1) + " <b>", (f"r{k}",), hypothesis=f"{row.trial} & {k}")
        for k in range(20)
    )
    path = translation_path(workdir / "evaluate", row.trial, "en-de", "news")
    Translation("en-de", "news", sentences).save(path)


def test_one_model_a_size_of_the_mixture_nearest_to_even(tmp_path):
    table = list(rows(["15k", "5k", "9k"]))
    for row in table:
        if row.trial != "9k-0.4":  # the one that would be nearest has a gap
            write(tmp_path, row)
    models = samples.choose(tmp_path, table, "news:source")
    assert [row.trial for row, _ in models] == ["5k-0.2", "9k-0.2", "15k-0.2"]
    assert {row.origin for row, _ in models} == {"mixed"}
    (task,) = samples.read(tmp_path, table, "news")
    assert (task.task, task.test_set) == ("en-de", "news")
    assert [row.trial for row in task.models] == ["5k-0.2", "9k-0.2", "15k-0.2"]
    lengths = [len(one.source) for one in task.samples]
    assert lengths == sorted(lengths) and len(set(lengths)) == 5
    for one in task.samples:
        trials = [text.partition(" & ")[0] for text in one.hypotheses]
        assert trials == ["5k-0.2", "9k-0.2", "15k-0.2"]
        assert one.reference == f"r{one.hypotheses[0].partition(' & ')[2]}"


@pytest.mark.parametrize("table", [[], list(rows(["5k"]))])
def test_without_translations_there_are_no_samples(tmp_path, table):
    assert samples.read(tmp_path, table, "news") == []
