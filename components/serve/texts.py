"""Texts of any length through a trained model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from components.serve.lines import Translated, one_line
from components.serve.trained import Trained
from components.serve.translator import ComputeType, Translator
from models.nmt.search_options import Hypothesis, SearchOptions

# Where a text may be cut, the best places first: after a sentence, after a part of
# one, between words.
_CUTS = (
    re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[”’」』）]*"),
    re.compile(r"[,;:]\s+|[，；：、]+"),
    re.compile(r"\s+"),
)
_WITHOUT_SPACES = ("zh", "ja", "th", "lo", "km", "my", "bo")


class TextTranslator:
    """Translates texts with one trained model into one language.

    Texts that are too long are translated in pieces.

    Args:
      trained: The model.
      options: Of the search.
      to: The language.
      tag: Its tag, see `Trained.tag`.
      longest: Most source tokens of a piece; by default the most that the model was
        trained on.
      compute_type: See `Translator`.
      batch: Most sentences that are decoded together.

    Attributes:
      in_pieces: Texts so far that were too long.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        *,
        to: str,
        tag: str | None,
        longest: int | None = None,
        compute_type: ComputeType = "float32",
        batch: int | None = None,
    ):
        self.in_pieces = 0
        self._trained, self._options, self._tag = trained, options, tag
        self._longest = longest or trained.longest_source
        self._joint = joint(to)
        self._translator = Translator(
            trained, options, compute_type=compute_type, batch=batch
        )

    def translate(self, texts: list[str]) -> list[tuple[Translated, ...]]:
        """One or more translations of each text, the best first."""
        if not texts:
            return []
        pieces = self._pieces(texts)
        flat = list(itertools.chain.from_iterable(pieces))
        found = iter(self._translator.translate(flat))
        return [self._joined([next(found) for _ in own]) for own in pieces]

    def _pieces(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """The ids of each text, in pieces where it is too long."""
        pieces = []
        encoded = self._trained.encode(texts, self._tag)
        for text, ids in zip(texts, encoded, strict=True):
            if len(ids) <= self._longest:
                pieces.append([ids])
                continue
            self.in_pieces += 1
            pieces.append(self._trained.encode(split(text, self._fits), self._tag))
        return pieces

    def _fits(self, text: str) -> bool:
        return len(self._trained.encode([text], self._tag)[0]) <= self._longest

    def _joined(self, found: list[list[Hypothesis]]) -> tuple[Translated, ...]:
        """The hypotheses of a text; of one in pieces, the best of each piece."""
        if len(found) == 1:
            return tuple(Translated(self._text(one), one.score) for one in found[0])
        best = [own[0] for own in found]
        text = self._joint.join(self._text(one) for one in best)
        tokens = sum(len(one.ids) + one.ended for one in best)
        total = sum(one.log_probability for one in best)
        score = total / tokens**self._options.length_normalisation
        return (Translated(text, score),)

    def _text(self, hypothesis: Hypothesis) -> str:
        return one_line(self._trained.vocabulary.decode(hypothesis.ids))


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
