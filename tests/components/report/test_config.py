"""What a configuration of the report accepts."""

from __future__ import annotations

import pytest

from components.report.config import Config
from models.errors import FieldError


def test_a_configuration_says_what_it_expects() -> None:
    with pytest.raises(FieldError, match="level: 95; expected between"):
        Config(level=95.0)
    with pytest.raises(FieldError, match="movement_percent: 0"):
        Config(movement_percent=0.0)
    with pytest.raises(FieldError, match="dots_per_inch"):
        Config(dots_per_inch=5)
