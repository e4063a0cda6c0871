"""Names within the artifact of ``select``; imports nothing."""

SCORES = "scores"
SCORES_SUFFIX = ".npy"
COUNTS = "counts.json"
REPORT = ".report.json"
# The columns of a table of scores that every scorer has.
SCORE = "score"
KEPT = "kept"
MODELS = "models.npz"
