"""BLEU and chrF by language."""

from components.evaluate import overlap_metrics
from components.evaluate.translation import Sentence, Translation


def test_tokenizers_follow_the_language():
    assert overlap_metrics.bleu_tokenizer("zh_TW") == ("zh", "")
    assert overlap_metrics.bleu_tokenizer("de") == ("13a", "")
    assert overlap_metrics.bleu_tokenizer("th") == ("char", "")
    name, problem = overlap_metrics.bleu_tokenizer("ja")
    if problem:
        assert name == "char" and "pip install 'sacrebleu[ja]'" in problem
    else:
        assert name == "ja-mecab"
    sentence = Sentence("a b", ("我喜欢猫。",), hypothesis="我喜欢狗。")
    translation = Translation("en-zh", "x", (sentence,))
    scores = overlap_metrics.OverlapMetric("bleu").score(translation)
    assert "tok:zh" in scores.signatures["mixed"]
    assert scores.values["mixed"] > 20  # of characters; as words it is 0
