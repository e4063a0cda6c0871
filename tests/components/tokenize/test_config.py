"""Options of ``tokenize`` out of range."""

from __future__ import annotations

import pytest

from components.tokenize import Config
from models.errors import FieldError


@pytest.mark.parametrize(
    "options",
    [
        {"vocabulary_size": 7},
        {"vocabulary_size": 200, "byte_fallback": True},
        {"character_coverage": 0.95},
        {"sentences": 0},
        {"temperature": 0.5},
        {"packing_window": 0},
        {"source_length": 3},
        {"target_length": 20_000},
        {"beam_options": ("--runner=DirectRunner",)},
    ],
)
def test_options_out_of_range_are_field_errors(options):
    with pytest.raises(FieldError):
        Config(**options)
