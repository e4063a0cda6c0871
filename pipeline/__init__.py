"""Wiring: experiment files, the graph of steps, runners and the command line."""

# Whose progress a person wants to see.
PACKAGES = ("components", "models", "pipeline")
