"""The drawing vocabulary: labels that do not collide, colours, axes."""

from __future__ import annotations

import pytest

from components.report.plotting import (
    log_y_axis,
    panels,
    readable,
    size_axis,
    spread,
    weight_colour,
)


def test_labels_are_moved_apart_no_further_than_needed() -> None:
    assert spread([0.0, 0.1, 1.0], 0.3) == pytest.approx([-0.1, 0.2, 1.0])
    values = [0.42, 0.40, 0.9, 0.41, 0.43]
    placed = spread(values, 0.06)
    ordered = sorted(placed)
    gaps = [b - a for a, b in zip(ordered, ordered[1:], strict=False)]
    assert min(gaps) > 0.06 - 1e-6
    assert sorted(range(5), key=placed.__getitem__) == sorted(
        range(5), key=values.__getitem__
    )
    assert placed[2] == pytest.approx(0.9)
    assert spread([], 0.1) == []


def test_text_stands_out_on_white_in_every_colour() -> None:
    def contrast(rgb: tuple[float, ...]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in rgb]  # fmt: skip
        parts = zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        return 1.05 / (0.05 + sum(weight * c for weight, c in parts))

    for p in (0.0, 0.31, 0.77, 1.0):
        assert contrast(readable(weight_colour(p))) >= 4.5
    assert contrast(weight_colour(1.0)[:3]) < 4.5  # which is why it is darkened


def test_sizes_are_ticks_where_their_labels_have_room() -> None:
    _, (axes,) = panels(1)
    names = {2000.0: "2k", 2100.0: "2.1k", 30000.0: "30k", 64000.0: "64k"}
    size_axis(axes, names)
    axes.set_xlim(1800, 70000)
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert shown == ["2k", "30k", "64k"]


def test_a_logarithmic_axis_has_round_ticks_within_its_limits() -> None:
    for low, high in ((0.58, 2.9), (0.02, 7.0), (0.9, 1.25)):
        _, (axes,) = panels(1)
        log_y_axis(axes, low, high)
        ticks = axes.get_yticks()
        assert len(ticks) >= 2 and min(ticks) >= low and max(ticks) <= high
