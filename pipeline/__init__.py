"""Wiring: experiment file, grid of trials, the steps in order, runners, CLI."""
