"""What the steps leave on disk: folders with manifests, typed records and tables."""
