"""Translations as files."""

import dataclasses

import pytest

from components.evaluate.translation import Sentence, Translation, load_sentences
from models.errors import UserError


def test_files_hold_any_text(tmp_path):
    nasty = "a\tb\u2028c\r\nd\x85e \N{PILE OF POO} 'quoted\""
    clean = "a b c d e \N{PILE OF POO} 'quoted\""
    sentences = (
        Sentence(nasty, (nasty,), score=-1.25, metrics={"comet": 0.25}),
        Sentence("n", ("r", "s"), "target", nasty, -0.5, True, {"comet": 1.0}),
    )
    path = tmp_path / "x.tsv"
    Translation("en-de", "x", sentences).save(path)
    found = load_sentences(path)
    first = dataclasses.replace(sentences[0], source=clean, references=(clean,))
    second = dataclasses.replace(sentences[1], hypothesis=clean)
    assert found == (first, second)
    head = path.read_text(encoding="utf-8").split("\n")[0].split("\t")
    assert head == ["source", "reference", "reference_2", "hypothesis", "score",
                    "ended", "origin", "comet"]  # fmt: skip


def test_another_file_is_refused(tmp_path):
    (tmp_path / "y.tsv").write_text("a\tb\n1\n")
    with pytest.raises(UserError, match="y.tsv: not a file of translations"):
        load_sentences(tmp_path / "y.tsv")


def test_halves_need_the_origin_of_every_sentence():
    known = tuple(Sentence("s", ("r",), origin) for origin in ("source", "target"))
    whole = Translation("en-de", "x", known)
    assert set(whole.parts()) == {"mixed", "source", "target"}
    unknown = dataclasses.replace(whole, sentences=(*known, Sentence("s", ("r",))))
    assert set(unknown.parts()) == {"mixed"}
