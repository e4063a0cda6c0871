"""Decoding and repairs, a batch of lines at a time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from components.ingest.cleaning.repair import decode, repair
from components.ingest.duplicates.keys import comparable

FUZZ = settings(max_examples=80, deadline=None)
# Bytes and characters that mean something to a reader of lines, and some that do not.
odd_bytes = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\xef\xbb\xbf", b"\0", b"\xff", "é".encode(), b"ab", b" "]
        + ["\u2028".encode(), "好".encode(), "🙂".encode()]
    ),
    max_size=40,
).map(b"".join)
odd_lines = st.lists(
    st.text(
        st.one_of(
            st.sampled_from("\u0301e\u2028\x85\xa0\ufeff\x07 \tßΣςﬁＡ你!_"),
            st.characters(exclude_characters="\n", exclude_categories=["Cs"]),
        ),
        max_size=12,
    ),
    max_size=6,
)


def test_repair_keeps_one_line_a_sentence_and_one_space_a_gap():
    found = repair(
        [
            "\ufeffBonjour\u00a0!  \r",
            "one\u2028sentence\u0085here",
            "e\u0301te\u0301",
            "\u3000你好\u200b\t世界 ",
            "\x07bell\x00",
            "",
        ]
    )
    assert found == [
        "Bonjour !",
        "one sentence here",
        "été",
        "你好 世界",
        "bell",
        "",
    ]
    assert repair([]) == []


def test_entities_are_resolved_once_and_only_where_they_are_entities():
    found = repair(
        [
            "&quot;R&amp;D&quot; caf&#233; &#x597D;",
            "one&#10;line&NewLine;only&nbsp;!",
            "AT&T; fish & chips; &notaname; &amp;lt; a&b",
        ]
    )
    assert found == [
        '"R&D" café 好',
        "one line only !",
        "AT&T; fish & chips; &notaname; &lt; a&b",
    ]


def test_decode_marks_only_the_lines_that_are_not_text():
    lines = ["grün".encode(), "grün".encode("latin-1"), b"a\0b", b"ok"]
    texts, bad = decode(lines)
    assert texts == ["grün", "gr\\xfcn", "a\0b", "ok"]
    assert bad == [1, 2]
    assert decode([]) == ([], [])


@FUZZ
@given(content=odd_bytes)
def test_decoding_a_batch_is_decoding_each_line(content):
    raw = content.split(b"\n")
    texts, bad = decode(raw)
    assert len(texts) == len(raw)
    for position, (line, text) in enumerate(zip(raw, texts, strict=True)):
        alone, alone_bad = decode([line])
        assert alone == [text]
        assert (position in bad) == bool(alone_bad)
        if position not in bad:
            assert text.encode() == line


@FUZZ
@given(texts=odd_lines)
def test_repairing_and_comparing_a_batch_is_doing_so_line_by_line(texts):
    repaired = repair(texts)
    assert repaired == [repair([text])[0] for text in texts]
    assert repair(repaired) == repaired
    for text in repaired:
        assert text == " ".join(text.split())
    if texts:
        keys = comparable(repaired)
        assert keys == [comparable([text])[0] for text in repaired]
