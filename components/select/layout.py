"""Names within the artifact of ``select``; imports nothing."""

SCORES = "scores"
SCORES_SUFFIX = ".npy"
COUNTS = "counts.json"
REPORT = ".report.json"
# The columns of a table of scores that every scorer has.
SCORE = "score"
KEPT = "kept"
MODELS = "models.npz"
# The models of a contrastive score, by what they have learned from: the text to select
# from, and then trusted text, the same corrupted, or text of a domain.
NOISY = "noisy"
TRUSTED = "trusted"
CORRUPTED = "corrupted"
IN_DOMAIN = "in_domain"
BOTH = "both"
