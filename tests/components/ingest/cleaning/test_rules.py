"""The cleaning rules, one by one, and what they measure."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.ingest.cleaning import alignment
from components.ingest.cleaning.pairs import Pairs, Side
from components.ingest.cleaning.rules import (
    Copied,
    LengthRatio,
    Markup,
    Misaligned,
    Numbers,
    Repeated,
    Rules,
    Tokenised,
    TooLong,
    WrongLanguage,
    WrongScript,
)
from components.ingest.cleaning.scripts import SCRIPTS, written_in
from models.errors import FieldError

sentences = st.lists(
    st.text(
        st.one_of(
            st.sampled_from("aé好Ж٣7９. ,!?🙂ß«"),
            st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
        ),
        min_size=1,
        max_size=9,
    ),
    min_size=1,
    max_size=7,
)


@pytest.mark.parametrize(
    ("rule", "rejected", "kept"),
    [
        (TooLong(5), ("123456", "12"), ("12345", "12345")),
        (TooLong(5), ("12", "123456"), ("a", "b")),
        (LengthRatio(2.0, 3), ("a" * 24, "b" * 10), ("a" * 23, "b" * 10)),
        (LengthRatio(2.0, 3), ("a" * 10, "b" * 24), ("你" * 8, "b" * 24)),
        (Copied(), ("Save the file", "save the FILE"), ("Save it", "Save it")),
        (Markup(0.25), ("<b>ok</b>", "fine"), ("a < b and c > d", "plain")),
        (Markup(0.25), ("fine", "http://a.bc d"), ("5 & 6; 7 & 8", "R&D")),
        (Markup(0.25), ("&quot;ok&quot;", "ok"), ("AT&T; fish & chips", "ok")),
        (Repeated(2), ("a no no no b", "x"), ("no no yes no no", "la la")),
        (Repeated(2), ("x", "so it so it so it goes"), ("x", "so it so it so goes")),
        (Repeated(3), ("go", "好吧好吧好吧好吧好吧好吧好吧"), ("go", "好吧好吧好吧走")),
        (Tokenised(), ("He did n't go .", "x"), ("He didn't go.", "x ... y")),
        (Tokenised(), ("x", 'Er sagt " ja " .'), ("x", 'Er sagt "ja". .NET')),
        (Tokenised(), ("`` Go '' , he said", "x"), ("``Field`` or ``B`` is", "x")),
        (Tokenised(), ("x @-@ y ( z )", "x"), ("« Ça va ? »", "Oui : non ; si !")),
        (Numbers(), ("in 1984 .", "1 Jahr"), ("in 1984", "１９８４年")),
        (Numbers(), ("x", "10 000 m"), ("12:30 on 5/12", "12.5., 12.30 Uhr")),
        (Numbers(), ("20,000 of 5", "a lot"), ("ten", "10")),
    ],
)
def test_each_rule_rejects_on_one_side_of_its_threshold(rule, rejected, kept):
    sources, targets = zip(kept, rejected, kept, strict=True)
    found = rule.rejects(Pairs(sources, targets, ("en", "de")))
    assert found.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("languages", "rejected", "kept"),
    [
        (("en", "zh"), ("over there", "over there!"), ("use Ctrl+C", "请按 Ctrl+C")),
        (("ru", "en"), ("Only English", "x"), ("Только так", "Just so")),
        (("en", "de"), ("x", "Это совсем не то"), ("café", "123 🙂 45")),
        (("ja", "ko"), ("これはペンです", "これはペンです"), ("本です。", "책이에요.")),
    ],
)
def test_text_in_another_script_is_rejected(languages, rejected, kept):
    rule = WrongScript(share=0.2)
    sources, targets = zip(rejected, kept, strict=True)
    assert rule.rejects(Pairs(sources, targets, languages)).tolist() == [True, False]
    unknown = Pairs(sources, targets, ("qq", "xx"))
    assert not rule.rejects(unknown).any()


def test_languages_know_their_scripts():
    assert written_in("zh-Hant") == written_in("zh_CN") == ("han",)
    assert written_in("fr") == ("latin",)
    assert written_in("klingon") == ()
    for language in ("ja", "sr", "hi", "am", "ka"):
        assert set(written_in(language)) <= set(SCRIPTS)


def test_the_alignment_score_tells_true_pairs_from_shifted_ones():
    rng = random.Random(11)
    names = ["Berlin", "Maria", "Toronto", "Albert", "Hamburg", "Professor"]
    sources, targets = [], []
    for _ in range(200):
        name, year = rng.choice(names), rng.randint(1000, 2020)
        end = rng.choice(".?!")
        words = rng.randint(1, 12)
        sources.append(f"{name} {'was here ' * words}in {year}{end}")
        targets.append(f"{name} {'war hier ' * words}im Jahr {year}{end}")
    pairs = Pairs(sources, targets, ("en", "de"))
    shifted = Pairs(sources, targets[1:] + targets[:1], ("en", "de"))
    true, false = alignment.scores(pairs), alignment.scores(shifted)
    assert (true > np.median(false)).mean() > 0.97
    assert not Misaligned().rejects(pairs).any()
    assert Misaligned().rejects(shifted).mean() > 0.3
    strict = Misaligned(score=0.3).rejects(shifted)
    assert strict.mean() > Misaligned().rejects(shifted).mean()


def test_sizes_count_what_a_character_says():
    texts = ["hello", "привет", "สวัสดี", "你好，", "こんにちは", "안녕", "été 🙂"]
    assert Side(texts, "").sizes.tolist() == [5, 6, 6, 9, 10, 4, 7]


@pytest.mark.parametrize(
    ("language", "letters"),
    [
        ("ru", "абвгдежзиклмнопрст"),
        ("el", "αβγδεζηθικλμνξοπρσ"),
        ("he", "אבגדהוזחטיכלמנסעפצ"),
        ("ar", "ابتثجحخدذرزسشصضطظع"),
        ("hi", "कखगघचछजझटठडढणतथदधन"),
        ("bn", "কখগঘচছজঝটঠডঢণতথদধন"),
        ("ta", "கஙசஞடணதநபமயரலவழளறன"),
        ("th", "กขคงจฉชซญดตถทธนบปผ"),
        ("ka", "აბგდევზთიკლმნოპჟრს"),
    ],
)
def test_a_script_makes_no_pair_longer(language, letters):
    """A translation is judged alike in a script of one byte a letter and of three."""
    rng = random.Random(3)
    sources, latin, own = [], [], []
    for _ in range(200):
        words = [rng.randint(2, 9) for _ in range(rng.randint(2, 14))]
        sources.append(" ".join("w" * n for n in words) + ".")
        ours = [rng.choices(range(18), k=max(2, n + rng.randint(-2, 3))) for n in words]
        latin.append(
            " ".join("".join("bcdfghjklmnpqrstvx"[i] for i in w) for w in ours)
        )
        own.append(" ".join("".join(letters[i] for i in w) for w in ours))
    rules = Rules(repeated=None, wrong_script=None)
    here, there = (
        [found.tolist() for _, found in rules.ask(Pairs(sources, targets, languages))]
        for targets, languages in ((latin, ("en", "de")), (own, ("en", language)))
    )
    assert np.sum(there) <= np.sum(here) < 10


@pytest.mark.filterwarnings("error")
def test_a_line_of_ten_megabytes_is_only_too_long():
    pairs = Pairs(["x" * 10_000_000, "a b"], ["kurz", "c d"], ("en", "de"))
    assert Misaligned().rejects(pairs).tolist() == [True, False]
    told = {name: found.tolist() for name, found in Rules().ask(pairs) if found.any()}
    assert told == {"too_long": [True, False]}


def test_rules_are_asked_in_order_and_only_about_what_is_open():
    pairs = Pairs(["a b c", "x" * 9, "fine"], ["a b c", "x" * 9, "gut"])
    rules = Rules(too_long=TooLong(8), copied=Copied(1), misaligned=None)
    told = {name: found.tolist() for name, found in rules.ask(pairs)}
    assert told["too_long"] == [False, True, False]
    assert told["copied"] == [True, False, False]
    assert pairs.open.tolist() == [False, False, True]
    assert "misaligned" not in told
    names = [name for name, _ in Rules(copied=None, repeated=None).active()]
    assert names[:2] == ["too_long", "length_ratio"]
    assert not {"copied", "repeated", "wrong_language"} & set(names)


def test_invented_languages_are_not_asked_for_their_script():
    names = [name for name, _ in Rules().of_invented_languages().active()]
    assert "too_long" in names
    assert not {"wrong_script", "misaligned", "wrong_language"} & set(names)


@settings(max_examples=100, deadline=None)
@given(texts=sentences)
def test_measures_of_a_batch_are_those_of_each_sentence(texts):
    side = Side(texts, "en")
    assert side.lengths.tolist() == [len(text) for text in texts]
    assert side.casefolded == [text.casefold() for text in texts]
    pattern = re.compile("[a-z]+")
    counts, characters = side.matches(pattern)
    assert counts.tolist() == [len(pattern.findall(text)) for text in texts]
    assert characters.tolist() == [sum(map(len, pattern.findall(t))) for t in texts]
    for text, letters, digits in zip(texts, side.letters, side.digits, strict=True):
        assert letters[SCRIPTS.index("none")] == 0
        assert letters[SCRIPTS.index("cyrillic")] >= text.count("Ж")
        assert digits[7] >= text.count("7")
        assert digits[9] >= text.count("９")
        assert digits[3] >= text.count("٣")
    for name, rule in Rules().active():
        whole = rule(Pairs(texts, texts[::-1], ("en", "zh"))).tolist()
        alone = [
            bool(rule(Pairs([source], [target], ("en", "zh")))[0])
            for source, target in zip(texts, texts[::-1], strict=True)
        ]
        assert whole == alone, name


@pytest.mark.parametrize(
    "make",
    [
        lambda: TooLong(0),
        lambda: LengthRatio(0.9),
        lambda: LengthRatio(2.0, -1),
        lambda: Markup(1.5),
        lambda: Repeated(0),
        lambda: Repeated(words=0),
        lambda: Tokenised(0),
        lambda: Numbers(share=2),
        lambda: Numbers(digits=0),
        lambda: Misaligned(-1),
        lambda: WrongScript(-0.1),
        lambda: WrongLanguage(2),
    ],
)
def test_rule_options_out_of_range_are_field_errors(make):
    with pytest.raises(FieldError):
        make()


def test_sentences_in_another_language_are_rejected():
    english = "The weather was fine and we went down to the river to swim."
    german = "Das Wetter war schön und wir gingen zum Fluss hinunter schwimmen."
    french = "Il faisait beau et nous sommes descendus nager dans la rivière."
    sources = [english, german, english, "ja", english]
    targets = [german, english, french, "oui", german]
    pairs = Pairs(sources, targets, ("en", "de"))
    pairs.open[4] = False
    found = WrongLanguage().rejects(pairs)
    assert found.tolist() == [False, True, True, False, False]
    assert not WrongLanguage().rejects(Pairs(sources, targets, ("qq", "xx"))).any()
