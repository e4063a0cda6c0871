"""Wiring: experiment files, the graph of steps, runners and the command line."""

from typing import Literal

# Whose progress a person wants to see.
PACKAGES = ("components", "models", "pipeline")

# The steps in order, for what must not load them; `pipeline.steps` has the graph.
Verb = Literal[
    "ingest", "select", "tokenize", "train", "evaluate", "fit", "recommend", "report"
]
