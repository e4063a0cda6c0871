"""Repairs of sentences, and the rules that reject pairs."""
