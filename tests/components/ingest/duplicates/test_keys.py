"""Keys of sentences and pairs."""

from __future__ import annotations

from components.ingest.duplicates.keys import comparable, pair_keys, sentence_keys


def test_comparable_sentences_do_not_see_case_punctuation_or_width():
    same = ["Look out!", "look  out", "LOOK-OUT?", "Ｌｏｏｋ ｏｕｔ！", "l_o_o_k out"]
    assert set(comparable(same)) == {"lookout"}
    assert comparable(["Straße", "STRASSE"]) == ["strasse", "strasse"]
    assert comparable(["你好，世界。", "🙂", "?!", ""]) == ["你好世界", "🙂", "?!", ""]


def test_keys_depend_on_the_seed_the_task_and_the_boundary():
    assert (
        sentence_keys(["a b", "A, B!"], 3).tolist() == [sentence_keys(["ab"], 3)[0]] * 2
    )
    assert sentence_keys(["ab"], 3) != sentence_keys(["ab"], 4)
    one = pair_keys("en-de", ["ab"], ["c"], 3)
    assert one != pair_keys("en-de", ["a"], ["bc"], 3)
    assert one != pair_keys("en-fr", ["ab"], ["c"], 3)
