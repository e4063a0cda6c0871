"""Which sentences and pairs say the same: keys, equivalents, near-duplicates."""
