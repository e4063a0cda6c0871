"""The final loss of a trial, and the truth it is compared with."""

import types

import pytest

from components.artifacts.metrics_table import MetricsRow
from components.evaluate.losses import final_row, irreducible_losses


def row(step, loss):
    return MetricsRow(
        trial="t",
        cohort="en-xx",
        size="2k",
        seed=0,
        task="en-de",
        p=0.3,
        mixture="en-de=0.3,en-fr=0.7",
        test_set="in_domain",
        n=10,
        n_enc=4,
        n_dec=6,
        n_embedding=5,
        step=step,
        loss=loss,
        loss_kind="curve",
    )


def test_final_loss_is_the_median_over_the_last_tenth():
    curve = [row(900, 9.0), row(920, 2.5), row(960, 2.0), row(1000, 2.2)]
    final = final_row(curve, 1000)
    assert (final.loss, final.step, final.loss_kind) == (2.2, 1000, "final")


def test_irreducible_loss_is_per_target_token():
    splits = {
        name: types.SimpleNamespace(nats=nats, target_tokens=tokens)
        for name, nats, tokens in (
            ("train", None, 900), ("in_domain", 30.0, 40), ("news", None, 10),
        )
    }  # fmt: skip
    task = types.SimpleNamespace(splits=splits)
    found = irreducible_losses(types.SimpleNamespace(tasks={"en-de": task}))
    assert found["en-de"]["in_domain"]["nats_per_token"] == pytest.approx(0.75)
    assert found["en-de"]["news"]["nats_per_token"] is None
    assert "train" not in found["en-de"]
