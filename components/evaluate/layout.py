"""What ``evaluate`` writes, by name: shared by its writer and its readers."""

from __future__ import annotations

IRREDUCIBLE = "irreducible.json"
SENTENCES = "sentences"
QUALITY = "quality.json"
HYPOTHESES = "hypotheses"
