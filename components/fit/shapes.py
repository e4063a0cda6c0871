"""``predict`` for shapes: what bivariate laws say of encoder and decoder sizes."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.fit import law_file
from models.errors import UserError
from models.laws.bivariate import optimal_split, predict_shape, split_penalty
from models.laws.law import Law


@dataclasses.dataclass(frozen=True)
class ShapePrediction:
    """One task's predicted value for one shape.

    Attributes:
      task, test_set, metric: What is predicted.
      weighting: The mixture that the law was fitted on.
      n_enc, n_dec: Parameters of either side.
      predicted, low, high: The value and its interval for a newly trained model; the
        ends are null where the fit leaves them open.
      penalty: How many times larger the reducible value is than with the best split
        of as many parameters, [N] Fig. 10.
      best_n_enc, best_n_dec: That split, [N] Proposition 1.
    """

    task: str
    test_set: str
    metric: str
    weighting: str
    n_enc: float
    n_dec: float
    predicted: float
    low: float | None
    high: float | None
    penalty: float
    best_n_enc: float
    best_n_dec: float


def predict_shapes(
    laws: Path,
    n_enc: float,
    n_dec: float,
    p: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> list[ShapePrediction]:
    """What every bivariate law of a file says of a shape.

    Args:
      laws: Law file, or the folder that ``fit`` made.
      n_enc, n_dec: Parameters of either side.
      p: Only laws of this mixture, or those of all.
      level: Nominal coverage of the interval.

    Raises:
      UserError: No such file, no bivariate law in it, or none of the mixture.
    """
    known = [law for law in law_file.load(laws).laws if law.kind == "bivariate"]
    if not known:
        raise UserError(
            f"{laws}: no bivariate law, which a shape needs; fit with --law bivariate"
        )
    found = [_predicted(law, n_enc, n_dec, level) for law in known if _is_of(law, p)]
    if not found:
        labels = dict.fromkeys(law.weightings[0].label for law in known)
        raise UserError(
            f"{laws}: no bivariate law of this mixture; those it has are of p = "
            f"{', '.join(labels)}"
        )
    return found


def _is_of(law: Law, p: Mapping[str, float] | None) -> bool:
    weighting = law.weightings[0]
    known = weighting.mixture or {law.task: weighting.p}
    return all(
        abs(known.get(task, 0.0) - weight) < 1e-6
        for task, weight in (p or {}).items()
        if task in known or weighting.mixture
    )


def _predicted(law: Law, n_enc: float, n_dec: float, level: float) -> ShapePrediction:
    value, low, high = (float(x) for x in predict_shape(law, n_enc, n_dec, level))
    total = n_enc + n_dec
    best = optimal_split(law, total)
    return ShapePrediction(
        task=law.task,
        test_set=law.test_set,
        metric=law.metric,
        weighting=law.weightings[0].label,
        n_enc=n_enc,
        n_dec=n_dec,
        predicted=value,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        penalty=split_penalty(law, n_enc / total),
        best_n_enc=best[0],
        best_n_dec=best[1],
    )


def to_text(predictions: Sequence[ShapePrediction]) -> str:
    """The predictions for a person."""
    lines = []
    for one in predictions:
        interval = "no interval"
        if one.low is not None and one.high is not None:
            interval = f"{one.low:.4f} to {one.high:.4f}"
        lines.append(
            f"{one.task:<8} {one.test_set:<12} p = {one.weighting:<6} n_enc = "
            f"{one.n_enc:<9.4g} n_dec = {one.n_dec:<9.4g} {one.metric} "
            f"{one.predicted:.4f}  [{interval}]  reducible part {one.penalty:.3f}x "
            f"that of the best split, {one.best_n_enc:.4g} + {one.best_n_dec:.4g}"
        )
    return "\n".join(lines)


def to_json(predictions: Sequence[ShapePrediction]) -> str:
    """The predictions for a program."""
    records = [dataclasses.asdict(one) for one in predictions]
    return json.dumps(records, indent=1, ensure_ascii=False)
