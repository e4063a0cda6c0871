"""Names within the artifact of ``ingest``; imports nothing, so that looking at a
finished artifact starts no engine."""

COUNTS = "counts.json"
DEAD_LETTERS = "dead_letters"
REPORT = "report.json"
SCRATCH = ".scratch"
CARD = "card.json"
CARD_TEXT = "README.md"

# What is counted beside the rules that reject.
READ = "read"
ACCEPTED = "accepted"
