"""TMX, XLIFF, WMT's XML and SGM."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.ingest.sources.corpus import Corpus
from models.errors import UserError
from tests.components.ingest.collect import batches, pairs, texts

TMX = """\
<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-GB" segtype="sentence"/><body>
<tu><tuv xml:lang="EN-us"><seg>Press <bpt i="1">&lt;b&gt;</bpt>O<hi>K</hi><ept i="1"/>
 &amp; go.</seg></tuv><tuv xml:lang="zh-TW"><seg>按下</seg></tuv>
 <tuv xml:lang="zh-Hans"><seg>按确定。</seg></tuv></tu>
<tu srclang="zh"><tuv lang="zh"><seg>二\u2028行</seg></tuv>
 <tuv xml:lang="en"><seg>two</seg></tuv><tuv xml:lang="en"><seg>zwo</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>rien</seg></tuv></tu>
<tu srclang="*all*"><tuv xml:lang="en"><seg>alone</seg></tuv></tu>
</body></tmx>
"""
XLIFF_1 = """\
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="f" source-language="en-US" target-language="de" datatype="plaintext">
<body><group>
<trans-unit id="1"><source>Hi <g id="a">you</g><x id="b"/>!</source>
 <target state="translated">Hallo <g id="a">du</g>!</target>
 <alt-trans><source>no</source><target>nein</target></alt-trans></trans-unit>
<trans-unit id="2"><source>Bye <ph id="c">%s</ph></source>
 <target state="needs-review-translation">Tschüs <ph id="c">%s</ph></target>
</trans-unit>
<trans-unit id="3"><source>Not yet</source></trans-unit>
</group></body></file>
<file original="g" source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>Hi</source><target>Salut</target></trans-unit></body></file>
</xliff>
"""
XLIFF_2 = """\
<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en"
 trgLang="de-AT"><file id="f"><unit id="1">
<segment state="final"><source>A <pc id="1">b</pc>.</source>
 <target>Ein <pc id="1">B</pc>.</target></segment>
<ignorable><source> </source></ignorable>
<segment state="initial"><source>C.</source><target>C!</target></segment>
</unit></file></xliff>
"""
WMT = """\
<?xml version='1.0' encoding='utf-8'?>
<dataset id="test"><collection id="general">
<doc origlang="en" id="d1" domain="news"><src lang="en"><p><seg id="1">One.</seg></p>
<p><seg id="2">Two.</seg></p></src>
<ref lang="de" translator="A"><p><seg id="1">Eins.</seg>
<seg id="2">Zwei.</seg></p></ref>
<ref lang="de" translator="B"><p><seg id="1">Ein.</seg></p></ref>
<hyp system="x" lang="de"><p><seg id="1">Bad.</seg></p></hyp></doc></collection>
<doc origlang="de" id="d2"><src lang="en"><seg id="1">Three.</seg></src>
<ref lang="de"><seg id="1">Drei.</seg><seg id="2">Vier.</seg></ref></doc>
<doc origlang="en" id="d3"><src lang="en"><seg id="1">No.</seg></src>
<ref lang="cs"><seg id="1">Ne.</seg></ref></doc></dataset>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_tmx_takes_the_languages_of_the_task(tmp_path, encoding):
    text = TMX.format(encoding=encoding)
    (tmp_path / "a.tmx").write_bytes(text.encode(encoding))
    assert pairs(tmp_path, "en-zh", files="a.tmx") == [
        (1, "Press OK  & go.", "按下", ""),
        (2, "two", "二\u2028行", ""),
        (4, "alone", "", ""),
    ]
    (batch,) = batches(tmp_path, "zh_hans-en", "news", files="a.tmx")
    assert (batch.sources[0], batch.origins[0]) == ("按确定。", "target")
    (batch,) = batches(tmp_path, "en-zh", "news", files="a.tmx")
    assert batch.origins == ["source", "target", "mixed"]


def test_a_tmx_without_the_language_says_which_it_has(tmp_path):
    (tmp_path / "a.tmx").write_text(TMX.format(encoding="utf-8"))
    with pytest.raises(
        UserError, match=r"both en and it; 4 units, .*EN-us, en, fr, zh"
    ):
        texts(tmp_path, "en-it", files="a.tmx")


def test_xliff_of_both_versions(tmp_path):
    (tmp_path / "1.xlf").write_text(XLIFF_1)
    (tmp_path / "2.xliff").write_text(XLIFF_2)
    assert pairs(tmp_path, "en-de", files="1.xlf") == [
        (1, "Hi you!", "Hallo du!", ""),
        (2, "Bye ", "Tschüs ", "fuzzy"),
        (3, "Not yet", "", ""),
    ]
    assert texts(tmp_path, "en-de", files="1.xlf", keep_fuzzy=True)[1][1] == "Tschüs "
    assert texts(tmp_path, "fr-en", files="1.xlf") == [("Salut", "Hi")]
    assert pairs(tmp_path, "de-en", files="2.xliff") == [
        (1, "Ein B.", "A b.", ""),
        (2, "C!", "C.", "fuzzy"),
    ]
    (batch,) = batches(tmp_path, "de-en", "news", files="2.xliff")
    assert batch.origins == ["target", "target"]
    with pytest.raises(
        UserError,
        match="both en and it; 4 units, .*: en-US-de, en-fr",
    ):
        texts(tmp_path, "en-it", files="1.xlf")


def test_wmt_xml_has_references_documents_and_origins(tmp_path):
    (tmp_path / "a.xml").write_text(WMT)
    (batch,) = batches(tmp_path, "en-de", "news", files="a.xml")
    assert batch.sources == ["One.", "Two.", "Three.", ""]
    assert batch.targets == ["Eins.", "Zwei.", "Drei.", "Vier."]
    assert batch.origins == ["source", "source", "target", "target"]
    assert batch.details == [
        {"document": "d1", "domain": "news", "references": ["Eins.", "Ein."]},
        {"document": "d1", "domain": "news"},
        {"document": "d2"},
        {"document": "d2"},
    ]
    (batch,) = batches(tmp_path, "de-en", "news", files="a.xml")
    assert batch.sources[:3] == ["Eins.", "Zwei.", "Drei."]
    assert batch.origins[:3] == ["target", "target", "source"]
    assert texts(tmp_path, "en-de", files="a.xml")[:3] == [
        ("One.", "Eins."),
        ("One.", "Ein."),
        ("Two.", "Zwei."),
    ]
    with pytest.raises(UserError, match="both de and fr; 3 docu.*: cs, de, en"):
        texts(tmp_path, "de-fr", files="a.xml")


def write_sgm(base: Path) -> None:
    (base / "src.en.sgm").write_text(
        '<srcset setid="t" srclang="en">\n<DOC sysid="s" docid=d1 origlang="de">\n'
        '<hl><seg id=1> Q&A: 1 < 2 </seg></hl>\n<p><seg id="2">AT&amp;T</seg></p>\n'
        '</DOC><doc docid="d2" origlang="en"><seg id="1">Bye</seg></doc></srcset>\n'
    )
    for name, texts_of in (("A", ("eins", "zwei", "drei")), ("B", ("I", "II", "III"))):
        one, two, three = texts_of
        (base / f"ref{name}.de.sgm").write_text(
            '<refset setid="t" srclang="any" trglang="de"><doc sysid="ref" docid="d1" '
            f'origlang="de">\n<seg id="1">{one}</seg><seg id="2">{two}</seg></doc>\n'
            f'<doc sysid="ref" docid="d2"><seg id="1">{three}</seg></doc></refset>'
        )


def test_sgm_is_joined_by_document_and_segment(tmp_path):
    write_sgm(tmp_path)
    files = {"source": "src.en.sgm", "target": "refA.de.sgm"}
    (batch,) = batches(tmp_path, "en-de", "news", **files, references=("refB.de.sgm",))
    assert [text.strip() for text in batch.sources] == ["Q&A: 1 < 2", "AT&T", "Bye"]
    assert batch.targets == ["eins", "zwei", "drei"]
    assert batch.origins == ["target", "target", "source"]
    assert batch.details[2] == {"document": "d2", "references": ["drei", "III"]}
    with pytest.raises(UserError, match="expected en and fr, found languages: en, de"):
        texts(tmp_path, "en-fr", **files)
    (tmp_path / "refA.de.sgm").write_text("no markup at all\n")
    with pytest.raises(UserError, match=r"refA\.de\.sgm: no segments; expected srcset"):
        texts(tmp_path, "en-de", **files)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tmx", TMX.replace("alone</seg>", "al\x01ne</seg>"), r"line 10, column 4\d"),
        (
            "a.tmx",
            TMX[:300],
            r"line 6, column 2: Premature end of data in tag tu",
        ),
        ("a.tmx", "", "no element found; expected well-formed XML"),
        ("a.tmx", "plain text", "line 1, column 1"),
        (
            "a.xlf",
            WMT,
            r"outermost element is <dataset>; expected <xliff>; .*format: wmt",
        ),
        ("a.xml", XLIFF_1, r"outermost element is <xliff>; expected <dataset>"),
        (
            "a.tmx",
            TMX.replace("alone", "&bomb;"),
            "line 10, .*: Entity 'bomb' not",
        ),
        (
            "a.tmx",
            TMX.replace("{encoding}", "klingon"),
            "line 1.*Unsupported encoding",
        ),
    ],
)
def test_damaged_xml_is_explained_with_its_place(tmp_path, name, content, message):
    text = content.replace("{encoding}", "utf-8")
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        texts(tmp_path, "en-zh", files=name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_entities_that_expand_without_end_are_stopped(tmp_path):
    levels = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    (tmp_path / "a.tmx").write_text(
        f'<!DOCTYPE tmx [<!ENTITY e0 "{"x" * 100}">{levels}]><tmx><body><tu>'
        '<tuv xml:lang="en"><seg>&e9;</seg></tuv></tu></body></tmx>'
    )
    with pytest.raises(UserError, match="amplification"):
        texts(tmp_path, "en-de", files="a.tmx")


def test_an_ending_that_tells_no_format_asks_for_one(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UserError, match=r"corpora\[0\]\.format: missing, and .*a\.txt"):
        texts(tmp_path, "en-de", corpora=(Corpus(files="a.txt"),))
