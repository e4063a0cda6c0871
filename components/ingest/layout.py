"""Names within the artifact of ``ingest``; imports nothing, so that looking at a
finished artifact starts no engine."""

COUNTS = "counts.json"
DEAD_LETTERS = "dead_letters"
REPORT = "report.json"
TEMPORARY = ".tmp"  # ends the name of a file that is being written
CARD = "card.json"
CARD_TEXT = "README.md"

# What is counted beside the rules that reject.
READ = "read"
ACCEPTED = "accepted"

# The rules of the readers, asked before all others.
NOT_TEXT = "not_text"  # bytes that are no text in the file's encoding, or NUL
MALFORMED = "malformed"  # a record that its format does not allow
FUZZY = "fuzzy"  # the file itself says that the translation is not finished
MISALIGNED_FILES = "misaligned_files"  # of files with different numbers of lines
# Lower ends of the intervals that lengths are counted in: 1, 2, 3, 4, 6, 8, 12, ...
LENGTH_ENDS = sorted({1, *(2**k for k in range(1, 21)), *(3 << k for k in range(20))})
