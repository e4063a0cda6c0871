"""The language of a sentence, by py3langid (Lui and Baldwin 2012)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

# Codes of one language, or of languages that short text does not tell apart.
_ALIKE = (
    {"nb", "nn", "no", "da"},
    {"bs", "hr", "sr"},
    {"id", "ms"},
    {"zh", "yue"},
    {"gl", "pt"},
    {"cs", "sk"},
    {"xh", "zu"},
)


def classify(texts: Sequence[str]) -> list[tuple[str, float]]:
    """The likeliest language of each text, and its probability."""
    identifier = _identifier()
    return [identifier.classify(text) for text in texts]


def accepted(language: str) -> set[str]:
    """The codes that a sentence in a language may be given; none where the identifier
    does not know it."""
    code = language.lower().replace("_", "-").partition("-")[0]
    if code not in _identifier().nb_classes:
        return set()
    return {code}.union(*(group for group in _ALIKE if code in group))


def identify(texts: Sequence[str], language: str, confidence: float) -> np.ndarray:
    """Which sentences are, in all likelihood, in another language, bool [n].

    Args:
      texts: Sentences.
      language: The language they should be in; where it is not among those the
        identifier knows, no sentence is judged.
      confidence: Smallest probability of the other language.
    """
    codes = accepted(language)
    if not codes:
        return np.zeros(len(texts), bool)
    found = classify(texts)
    return np.array([c not in codes and p >= confidence for c, p in found], bool)


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
