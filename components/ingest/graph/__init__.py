"""The Beam graph of ``ingest``: its stages, and what they write."""
