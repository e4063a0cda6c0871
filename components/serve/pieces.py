"""Texts that are longer than what a model was trained on, in pieces that are not."""

from __future__ import annotations

import re
from collections.abc import Callable

# Where a text may be cut, the best places first: after a sentence, after a part of
# one, between words.
_CUTS = (
    re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[”’」』）]*"),
    re.compile(r"[,;:]\s+|[，；：、]+"),
    re.compile(r"\s+"),
)
_WITHOUT_SPACES = ("zh", "ja", "th", "lo", "km", "my", "bo")


def split(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Cuts a text into pieces that fit, each without space around it.

    Cuts near the middle, at the best kind of place that is there, again and again.

    Example:
      >>> split("One two. Three, four five six.", lambda piece: len(piece) <= 16)
      ['One two.', 'Three,', 'four five six.']

    Args:
      text: Any text.
      fits: Whether a piece is short enough.

    Returns:
      Pieces in order; one character is a piece even when it does not fit.
    """
    text = text.strip()
    if not text:
        return []
    if len(text) == 1 or fits(text):
        return [text]
    place = _place(text)
    return split(text[:place], fits) + split(text[place:], fits)


def _place(text: str) -> int:
    """Where to cut, in the middle two thirds if there is a place for it at all."""
    middle = len(text) / 2
    for pattern in _CUTS:
        ends = [found.end() for found in pattern.finditer(text)]
        near = [end for end in ends if abs(end - middle) <= len(text) / 3]
        if near:
            return min(near, key=lambda end: abs(end - middle))
    return len(text) // 2


def joint(language: str) -> str:
    """What stands between two pieces in a language."""
    base = language.partition("_")[0].lower()
    return "" if base in _WITHOUT_SPACES else " "
