"""Lines in, lines out: order and number, whatever the lines hold."""

from __future__ import annotations

import io
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.serve.lines import Tally, Translated, clean, groups, translate_lines


class Shouting:
    """Translates by upper case; notes how many texts it got together."""

    def __init__(self):
        self.calls: list[int] = []

    def translate(self, texts):
        self.calls.append(len(texts))
        assert all(texts), "an empty text reached the model"
        return [(Translated(text.upper(), -1.0),) for text in texts]


def through(content: bytes, window: int = 3) -> tuple[list[str], Tally, Shouting]:
    translator, tally, seen = Shouting(), Tally(), []
    lines = groups(io.BytesIO(content), window)
    for found in translate_lines(translator, lines, tally, lambda t: seen.append(t)):
        for own in found:
            assert len(own) == 1
    found = translate_lines(
        translator, groups(io.BytesIO(content), window), Tally(), lambda t: None
    )
    return [own[0].text for group in found for own in group], tally, translator


def test_every_kind_of_line():
    content = (
        b"\xef\xbb\xbffirst\r\n\r\n \t \nwith\xe2\x80\xa8separator\n\xff\xfe bytes\n"
        b"nul\x00 \xf0\x9f\x98\x80\n" + b"x" * 300_000 + b"\nform\x0cfeed\x85\nlast"
    )
    texts, tally, _ = through(content)
    assert texts == [
        "FIRST", "", "", "WITH\u2028SEPARATOR", "\ufffd\ufffd BYTES", "NUL\x00 😀",
        "X" * 300_000, "FORM\x0cFEED\ufffd", "LAST",
    ]  # fmt: skip
    assert (tally.lines, tally.empty, tally.undecodable) == (9, 2, 2)


def test_nothing_in_nothing_out():
    assert through(b"")[0] == []
    assert through(b"\n")[0] == [""]
    assert through(b"a\n")[0] == ["A"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=12).filter(lambda b: b"\n" not in b), max_size=40))
def test_any_bytes(lines):
    texts, tally, _ = through(b"".join(line + b"\n" for line in lines))
    assert texts == [clean(line).upper() for line in lines]
    assert tally.lines == len(lines)


def test_order_and_number_of_ten_thousand():
    content = b"".join(b"%d\n" % k if k % 7 else b"\n" for k in range(10_000))
    texts, _, translator = through(content, window=512)
    assert texts == [str(k) if k % 7 else "" for k in range(10_000)]
    assert max(translator.calls) <= 512


def test_a_line_is_translated_before_the_next_one_comes():
    """A person at a terminal, or a server behind a pipe."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as stream:
        found = translate_lines(
            Shouting(), groups(stream, 100), Tally(), lambda tally: None
        )
        for word in (b"one", b"two"):
            os.write(write_end, word + b"\n")
            assert next(found)[0][0].text == word.decode().upper()
        threading.Timer(0.01, os.close, [write_end]).start()
        assert list(found) == []


def test_a_stream_that_fails_is_not_a_short_one():
    class Broken(io.RawIOBase):
        parts = [b"one\ntw"]

        def read(self, size=-1):
            if self.parts:
                return self.parts.pop()
            raise OSError("disk gone")

    seen = []
    with pytest.raises(OSError, match="disk gone"):
        for group in groups(Broken(), 1):
            seen += group
    assert seen == [b"one"]


def test_there_is_soon_something_to_see():
    content = b"".join(b"%d\n" % k for k in range(3000))
    sizes = [len(group) for group in groups(io.BytesIO(content), 1000)]
    assert sizes[0] <= 64 and max(sizes) > 500 and sum(sizes) == 3000


def test_long_lines_are_not_all_read_at_once():
    class Endless(io.RawIOBase):
        """Lines of a megabyte."""

        given = 0

        def read(self, size=-1):
            self.given += 1
            return b"x" * (1 << 20) + b"\n"

    stream = Endless()
    found = groups(stream, 2000)
    sizes = [sum(map(len, next(found))) for _ in range(5)]
    assert all(size <= 1 << 24 for size in sizes)
    # Taken, waiting, and the one that is being put.
    assert stream.given <= 5 * 16 + 16 + 2


def test_a_line_that_says_so_itself_was_decodable():
    tally = Tally()
    content = io.BytesIO("a\ufffdb\n".encode() + b"a\xffb\n")
    for _ in translate_lines(Shouting(), groups(content, 9), tally, lambda t: None):
        pass
    assert (tally.lines, tally.undecodable) == (2, 1)
