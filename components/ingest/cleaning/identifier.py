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


def identify(texts: Sequence[str], language: str, confidence: float) -> np.ndarray:
    """Which sentences are, in all likelihood, in another language, bool [n].

    Args:
      texts: Sentences.
      language: The language they should be in; where it is not among those the
        identifier knows, no sentence is judged.
      confidence: Smallest probability of the other language.
    """
    identifier = _identifier()
    code = language.lower().replace("_", "-").partition("-")[0]
    wrong = np.zeros(len(texts), bool)
    if code not in identifier.nb_classes:
        return wrong
    accepted = {code}.union(*(group for group in _ALIKE if code in group))
    for i, text in enumerate(texts):
        found, probability = identifier.classify(text)
        wrong[i] = found not in accepted and probability >= confidence
    return wrong


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
