"""The artifacts of a run whose losses follow a known law, made in a second."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from components import fit, recommend
from components.artifacts import manifest
from components.artifacts.metrics_table import MetricsRow, save
from components.artifacts.trial import Trial, format_mixture
from components.fit.simulation import simulate_table

SIZES = {"2k": 2016, "5k": 5144, "12k": 12296, "27k": 27008, "64k": 66304}
TRUTH = {"en-de": (0.30, 1.35, 1.62), "en-fr": (0.34, 1.1, 1.91), "en-it": (0.3, 1, 2)}
ZERO_SHOT = 6.3  # nats: above anything that a trained task measures here
FAILED = "en-xx_12k_p0.70_s0"
REASON = "the loss is not finite at step 430 <of 1500>"
CHRF_PER_NAT = 30.0
Weights = Mapping[str, float]


def pairs(weights: Sequence[float]) -> list[Weights]:
    """Mixtures of two tasks by the weight of the first."""
    return [{"en-de": p, "en-fr": round(1 - p, 6)} for p in weights]


def trial_rows(trial: Trial, rng: np.random.Generator) -> list[MetricsRow]:
    """Learning curve and final loss; the rare tasks have not converged."""
    mixture, n = dict(trial.mixture), SIZES[trial.size]
    rows = []
    for task, p in mixture.items():
        alpha, beta, floor = TRUTH[task]
        f = p + 0.4 * p**0.8 * (1 - p) ** 1.2
        loss = beta * (f * n / 1e4) ** -alpha + floor if p else ZERO_SHOT
        loss += 0.003 * rng.standard_normal()
        steps = (90, 190, 270, 380, 530, 750, 1060, 1500)
        ends = [step for step in steps if trial.id != FAILED or step < 430]
        slow = 95.0 if p < 0.35 else 30.0
        common = {
            "trial": trial.id, "cohort": trial.cohort, "size": trial.size,
            "seed": trial.seed, "task": task, "p": p,
            "mixture": format_mixture(mixture), "test_set": "in_domain", "n": n,
            "n_enc": n // 2, "n_dec": n - n // 2, "n_embedding": 8192,
        }  # fmt: skip
        for step in ends:
            moved = loss + slow * ((step + 30.0) ** -1.05 - 1530.0**-1.05)
            rows.append(MetricsRow(**common, step=step, loss=moved, loss_kind="curve"))
        if trial.id != FAILED:
            rows.append(MetricsRow(**common, step=1500, loss=loss, loss_kind="final"))
        else:
            rows.append(MetricsRow(**common, step=430, loss=None, loss_kind="final"))
    return rows


def simulate(folder: Path, mixtures: Sequence[Weights], sizes: Sequence[str]) -> None:
    """The artifacts of ``train`` and ``evaluate``, as far as a report reads them."""
    rng = np.random.default_rng(5)
    rows: list[MetricsRow] = []
    for mixture in mixtures:
        for size in sizes:
            trial = Trial("en-xx", size, tuple(mixture.items()))
            rows += trial_rows(trial, rng)
            failed = trial.id == FAILED
            record = {
                "status": "failed" if failed else "done",
                "reason": REASON if failed else None,
                "epochs": {task: 2.5 * p for task, p in mixture.items()},
            }
            (folder / "train" / trial.id).mkdir(parents=True)
            text = json.dumps(record)
            (folder / "train" / trial.id / "record.json").write_text(text)

    def make(directory: Path) -> dict[str, int]:
        save(directory / "metrics.csv", rows)
        truth = {t: {"in_domain": {"nats_per_token": TRUTH[t][2]}} for t in mixtures[0]}
        (directory / "irreducible.json").write_text(json.dumps(truth))
        return {"rows": len(rows)}

    manifest.complete("evaluate", folder / "evaluate", config={}, inputs={}, make=make)


def fitted(
    folder: Path,
    sizes: tuple[str, ...],
    mixtures: tuple[float, ...],
    choose_sharing: bool = True,
) -> None:
    """Fits the table with these sizes and mixtures held out."""
    held_out = fit.HeldOut(sizes=sizes, mixtures=mixtures)
    config = fit.Config(held_out=held_out, draws=50, choose_sharing=choose_sharing)
    fit.run(config, table=folder / "evaluate", output=folder / "fit")


def recommended(folder: Path) -> None:
    """Four sizes and one held out; a held-out mixture, zero-shot runs, a failure."""
    simulate(folder, pairs((0.0, 0.3, 0.4, 0.5, 0.7, 1.0)), list(SIZES))
    counts = {"read": 1240, "accepted": 1111, "train": 1011}
    counts |= {"rejected": {"duplicate": 117, "length_ratio": 12}}
    counts |= {"test": {"in_domain": 100}}
    (folder / "ingest").mkdir()
    (folder / "ingest" / "counts.json").write_text(json.dumps({"en-de": counts}))
    fitted(folder, ("64k",), (0.4,))
    recommend.run(recommend.Config(), laws=folder / "fit", output=folder / "recommend")


def recommended_on_chrf(folder: Path) -> None:
    """Fitted on chrF, which is 100 less 30 a nat with noise; 708M is held out."""
    rng, rows = np.random.default_rng(0), []
    names = {field.name for field in dataclasses.fields(MetricsRow)}
    for line in csv.DictReader(io.StringIO(simulate_table(2, noise=0.0))):
        if line["size"] not in ("19M", "64M", "127M", "191M", "708M"):
            continue
        n, loss = int(line["n"]), float(line["loss"])
        cells = {key: value for key, value in line.items() if key in names}
        cells |= {"seed": 0, "p": float(line["p"]), "n": n, "loss": loss, "step": 100}
        cells |= {"n_enc": n // 2, "n_dec": n - n // 2, "n_embedding": 64}
        chrf = 100 - CHRF_PER_NAT * loss + 0.1 * rng.standard_normal()
        rows.append(MetricsRow(**cells, chrf=chrf, chrf_signature="simulated"))
    (folder / "evaluate").mkdir(parents=True)
    save(folder / "evaluate" / "metrics.csv", rows)
    held_out = fit.HeldOut(sizes=("708M",))
    config = fit.Config(metric="chrf", held_out=held_out, draws=20)
    fit.run(config, table=folder / "evaluate", output=folder / "fit")
    asked = recommend.Config(
        n=1e9, require=("en-zh>=48",), prefer={"en-de": 3, "en-zh": 0}
    )
    recommend.run(asked, laws=folder / "fit", output=folder / "recommend")
