"""Gettext catalogues, PO and MO."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from models.errors import UserError
from tests.components.ingest.collect import batches, pairs, texts

PO = """\
# Traduction de quelqu'un à Orléans
msgid ""
msgstr ""
"Language: fr\\n"
"Content-Type: text/plain; charset=ISO-8859-15\\n"

#: a.c:1
#, c-format
msgctxt "menu"
msgid "Open\\t\\"%s\\"\\n"
msgstr "Ouvrir "
"\\"%s\\", c'est l'œuvre\\n"

#, fuzzy
#| msgid "Old"
msgid "New"
msgstr "Ancien"

msgid "one line"
msgid_plural "%d lines"
msgstr[0] "une ligne"
msgstr[1] "%d lignes"
msgid "no blank line before"
msgstr "sans ligne vide"

msgid "untranslated"
msgstr ""

#, fuzzy
#~ msgid "gone"
#~ msgstr "parti"

msgid "octal \\303 \\x41"
msgstr "fin"
"""


def write_mo(path: Path, entries: dict[bytes, bytes], order: str) -> None:
    """A catalogue as msgfmt lays it out."""
    keys = sorted(entries)
    places, strings = [], b""
    start = 28 + 16 * len(keys)
    for text in [*keys, *(entries[key] for key in keys)]:
        places.append((len(text), start + len(strings)))
        strings += text + b"\0"
    head = (0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, 0)
    numbers = [*head, *(number for place in places for number in place)]
    path.write_bytes(struct.pack(f"{order}{len(numbers)}I", *numbers) + strings)


def test_a_catalogue_in_its_own_encoding(tmp_path):
    (tmp_path / "fr.po").write_bytes(PO.encode("iso-8859-15"))
    assert pairs(tmp_path, "en-fr", files="fr.po") == [
        (10, 'Open\t"%s" ', "Ouvrir \"%s\", c'est l'œuvre ", ""),
        (16, "New", "Ancien", "fuzzy"),
        (19, "one line", "une ligne", ""),
        (20, "%d lines", "%d lignes", ""),
        (23, "no blank line before", "sans ligne vide", ""),
        (26, "untranslated", "", ""),
        (33, "octal Ã A", "fin", ""),
    ]
    assert ("Ancien", "New") in texts(tmp_path, "fr-en", files="*.po", keep_fuzzy=True)
    (batch,) = batches(tmp_path, "fr-en", "news", files="fr.po")
    assert set(batch.origins) == {"target"}


def test_only_damaged_entries_are_rejected(tmp_path):
    lines = [
        b'msgid "a"',
        b'msgstr "gr\xfcn"',
        b"",
        b'msgid "b',
        b'msgstr "x"',
        b"",
        b'msgid "c"',
        b"",
        b'msgid "d"',
        b'msgstr "vier"',
        b'"',
    ]
    (tmp_path / "de.po").write_bytes(b"\n".join(lines))
    assert pairs(tmp_path, "en-de", files="de.po") == [
        (1, 'msgstr "gr\\xfcn"', "", "not_text"),
        (4, 'msgid "b', "", "malformed"),
        (7, "c", "", "malformed"),
        (9, '"', "", "malformed"),
    ]


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("en-de", ("", ""), "the header says Language: fr; expected de for task en-de"),
        ("de-es", ("", ""), "the messages are in en, which is no side of de-es"),
        ("en-fr", ("ISO-8859-15", "klingon"), "declares the encoding klingon"),
        ("en-fr", ("msgid", "id"), "no msgid with a msgstr in it"),
    ],
)
def test_a_catalogue_that_does_not_fit_is_explained(tmp_path, task, change, message):
    (tmp_path / "fr.po").write_bytes(PO.replace(*change).encode("iso-8859-15"))
    with pytest.raises(UserError, match=message):
        texts(tmp_path, task, files="fr.po")


@pytest.mark.parametrize("order", "<>")
def test_compiled_catalogues_of_both_byte_orders(tmp_path, order):
    entries = {
        b"": b"Language: zh_CN\nContent-Type: text/plain; charset=GB2312\n",
        b"menu\4Open": "打开".encode("gb2312"),
        b"%d\nline\0%d\nlines": "%d 行".encode("gb2312"),
        b"bad": b"\xff\xff",
    }
    write_mo(tmp_path / "zh.mo", entries, order)
    found = pairs(tmp_path, "en-zh", files="zh.mo")
    assert [pair[1:] for pair in found] == [
        ("%d lines", "%d 行", ""),
        ("bad", "\\xff\\xff", "not_text"),
        ("Open", "打开", ""),
    ]
    whole = (tmp_path / "zh.mo").read_bytes()
    for broken in (whole[:60], whole[:-8], b"PO" + whole[2:], b""):
        (tmp_path / "zh.mo").write_bytes(broken)
        with pytest.raises(UserError, match=r"zh\.mo: not a whole MO file"):
            texts(tmp_path, "en-zh", files="zh.mo")
