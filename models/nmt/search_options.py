"""What a search for translations may be asked for, and what it finds.

Imports neither Keras nor TensorFlow: configurations hold these options.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from models.errors import FieldError

PAD_ID = 0
END_ID = 1


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How to look for the best target sentences of a source sentence.

    The score of a hypothesis is ``log P(y | x) / |y| ** length_normalisation``,
    where ``|y|`` counts target tokens with the end of sentence. An exponent of 0
    compares plain log-probabilities, 1 the log-probability per token ([N] App. J:
    4 beams, 1.0).

    **Beam search.** At every step the ``2 * beams`` most probable extensions of the
    live hypotheses are candidates. A candidate among the first ``beams`` that is the
    end of sentence finishes its hypothesis; the first ``beams`` candidates that are not
    the end of sentence live on. The search of a sentence is over when ``beams``
    hypotheses have finished, or at the maximum length. Width 1 is greedy search.

    **Maximum length.** A target has at most
    ``ceil(max_length_ratio * source tokens + max_length_extra)`` tokens, the end of
    sentence counted on both sides. The best hypotheses that are live there have not
    ended; in the result they come after those that have.

    **Prefixes.** A sentence may have target tokens that its hypotheses begin with. They
    count in the length, not in the log-probability: they were given, not chosen.

    **Sampling.** With ``temperature`` set, ``nbest`` independent samples are drawn
    instead, the best-scored first; ``beams`` is not used.

    Attributes:
      beams: Width of the beam; 1 is greedy search.
      length_normalisation: Exponent of the length in the score, at least 0.
      max_length_ratio: Target tokens at most per source token, see above.
      max_length_extra: Target tokens at most beyond those.
      nbest: Hypotheses to return, at most ``beams`` unless sampling.
      temperature: Sample from ``softmax(logits / temperature)`` instead of searching;
        a positive number.
      top_k: Sample from the so many most probable tokens only.
      top_p: Sample from the smallest set of most probable tokens whose probability
        is at least ``top_p`` (Holtzman et al. 2020).
      seed: Of the samples.
    """

    beams: int = 4
    length_normalisation: float = 1.0
    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    nbest: int = 1
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _at_least("beams", self.beams, 1)
        _at_least("length_normalisation", self.length_normalisation, 0)
        _at_least("max_length_ratio", self.max_length_ratio, 0)
        _at_least("max_length_extra", self.max_length_extra, 0)
        _at_least("nbest", self.nbest, 1)
        if self.max_length_ratio == 0 and self.max_length_extra == 0:
            raise FieldError("max_length_extra", "got 0 with a max_length_ratio of 0")
        if self.temperature is None:
            self._check_search()
        else:
            self._check_sampling(self.temperature)

    def _check_search(self) -> None:
        if self.nbest > self.beams:
            raise FieldError(
                "nbest", f"got {self.nbest}, a beam of {self.beams} finds no more"
            )
        for name in ("top_k", "top_p"):
            if getattr(self, name) is not None:
                raise FieldError(name, "is for sampling; set temperature, such as 1.0")

    def _check_sampling(self, temperature: float) -> None:
        if not temperature > 0:
            raise FieldError("temperature", f"got {temperature}, expected above 0")
        if self.top_k is not None:
            _at_least("top_k", self.top_k, 1)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise FieldError("top_p", f"got {self.top_p}, expected in (0, 1]")

    @property
    def samples(self) -> bool:
        """Whether this asks for samples rather than for the best."""
        return self.temperature is not None

    def max_length(self, source_tokens: int) -> int:
        """Most target tokens, the end of sentence counted, for a source length.

        Example:
          >>> SearchOptions(max_length_ratio=1.5, max_length_extra=3).max_length(7)
          14
        """
        wanted = self.max_length_ratio * source_tokens + self.max_length_extra
        return max(math.ceil(wanted), 1)


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A target sentence that a search found.

    Attributes:
      ids: Target tokens, without the end of sentence.
      log_probability: Nats, of all tokens and of the end of sentence if it ended.
      score: ``log_probability / tokens ** length_normalisation``, where the end of
        sentence counts as a token if it ended.
      ended: Whether it came to the end of sentence within the maximum length.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float
    ended: bool

    @classmethod
    def of(cls, ids: Sequence[int], score: float, options: SearchOptions) -> Hypothesis:
        """A hypothesis from all of its tokens, with the end of sentence if it ended."""
        ended = bool(ids) and ids[-1] == END_ID
        return cls(
            tuple(ids[:-1] if ended else ids),
            score * len(ids) ** options.length_normalisation,
            score,
            ended,
        )


def _at_least(name: str, value: float, least: float) -> None:
    if not value >= least or math.isinf(value):
        raise FieldError(name, f"got {value}, expected at least {least}")
