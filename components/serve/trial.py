"""A trained trial as a translator of lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from components.evaluate.decoding import BATCH, Translator
from components.evaluate.hypotheses import one_line
from components.evaluate.trained import Trained
from components.serve import pieces
from components.serve.lines import Found
from models.nmt.search_options import Hypothesis, SearchOptions


class TrialTranslator:
    """Translates texts with one trained model into one language.

    Args:
      trained: The model.
      options: Of the search.
      to: The language.
      tag: Its tag, see `Trained.tag`.
      longest: Source tokens from which on a text is translated in pieces.
      batch: Sentences that are decoded side by side.
    """

    def __init__(
        self,
        trained: Trained,
        options: SearchOptions,
        *,
        to: str,
        tag: str | None,
        longest: int,
        batch: int = BATCH,
    ):
        self.trained, self.options, self.tag = trained, options, tag
        self.longest, self.joint = longest, pieces.joint(to)
        self.translator = Translator(trained.model, options, batch_sentences=batch)
        self.in_pieces = 0  # texts so far that were too long
        self._sentences = 0  # so far: a sentence's samples depend on its number

    def translate(self, texts: list[str]) -> list[tuple[Found, ...]]:
        """See `components.serve.lines.LineTranslator`."""
        if not texts:
            return []
        parts = self._parts(texts)
        flat = list(itertools.chain.from_iterable(parts))
        found = iter(self.translator.translate_ids(flat, first=self._sentences))
        self._sentences += len(flat)
        return [self._joined([next(found) for _ in own]) for own in parts]

    def _parts(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """The ids of each text, in pieces where it is too long."""
        parts = []
        for text, ids in zip(texts, self.trained.encode(texts, self.tag), strict=True):
            if len(ids) <= self.longest:
                parts.append([ids])
                continue
            self.in_pieces += 1
            cut = pieces.split(text, self._fits)
            parts.append(self.trained.encode(cut, self.tag))
        return parts

    def _fits(self, text: str) -> bool:
        return len(self.trained.encode([text], self.tag)[0]) <= self.longest

    def _joined(self, found: list[list[Hypothesis]]) -> tuple[Found, ...]:
        """The hypotheses of a text; of one in pieces, the best of each piece."""
        if len(found) == 1:
            return tuple(Found(self._text(one), one.score) for one in found[0])
        best = [own[0] for own in found]
        text = self.joint.join(self._text(one) for one in best)
        tokens = sum(len(one.ids) + one.ended for one in best)
        total = sum(one.log_probability for one in best)
        return (Found(text, total / tokens**self.options.length_normalisation),)

    def _text(self, hypothesis: Hypothesis) -> str:
        return one_line(self.trained.vocabulary.decode(hypothesis.ids))
