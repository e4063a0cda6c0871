"""The exported model against the translator it was made from."""

from __future__ import annotations

import io
import sys

import pytest
import tensorflow as tf

from components.serve.exported import Description, ExportedTranslator, newest_export
from components.serve.saved_model import export_saved_model
from components.serve.texts import TextTranslator
from components.serve.trained import load_trained
from models.errors import UserError
from models.nmt.search_options import SearchOptions
from pipeline import cli
from tests.components.evaluate.small_sweep import TRIALS

FIRST, SECOND = (trial.id for trial in TRIALS)
OPTIONS = SearchOptions(beams=2, max_length_extra=4)
TEXTS = [
    "the small house", "  ", "goes by a mountain old bird", "sees", "",
    "green bird \N{GRINNING FACE} sees the river", "the house sees a bird",
    "\ufb01sh \u2028 and\tCHIPS", "a small old bird goes by the green river",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(sweep):
    return load_trained(sweep / "train" / FIRST)


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """Two languages in one model."""
    out = tmp_path_factory.mktemp("served") / "model"
    return export_saved_model(trained, OPTIONS, out, lengths=(8, 24))


@pytest.fixture(scope="module")
def served(exported):
    return tf.saved_model.load(str(exported))


@pytest.mark.parametrize("language", ["de", "fr"])
def test_translates_as_the_translator_does(trained, served, exported, language):
    expected = TextTranslator(
        trained, OPTIONS, to=language, tag=f"<2{language}>", longest=24
    ).translate([text.strip() for text in TEXTS if text.strip()])
    answer = served.signatures["serving_default"](
        text=tf.constant(TEXTS), to=tf.constant([language])
    )
    found = [text.decode() for text in answer["translation"].numpy()]
    kept = [k for k, text in enumerate(TEXTS) if text.strip()]
    assert [found[k] for k in kept] == [own[0].text for own in expected]
    assert len({found[k] for k in kept}) > 5
    assert [found[k] for k in range(len(TEXTS)) if k not in kept] == ["", ""]
    scores = answer["score"].numpy()
    for k, own in zip(kept, expected, strict=True):
        assert scores[k] == pytest.approx(own[0].score, rel=1e-4, abs=1e-5)
    lines = ExportedTranslator(exported, language).translate(TEXTS)
    assert [own[0].text for own in lines] == found


def test_languages_side_by_side(served):
    default = served.signatures["serving_default"]
    text = tf.constant(["the small house"] * 3)
    answer = default(text=text, to=tf.constant(["de", "fr", "de"]))
    first, second, third = answer["translation"].numpy()
    assert first == third != second
    alone = served.signatures["translate_fr"](text=text)
    assert alone["translation"].numpy()[0] == second
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="this model writes de, fr"
    ):
        default(text=text, to=tf.constant(["zh"]))


def test_requests_of_any_size(served):
    translate = served.signatures["translate_de"]
    one = translate(text=tf.constant(["sees the bird"]))["translation"].numpy()
    for size in (0, 1, 3, 4, 9):
        found = translate(text=tf.constant(["sees the bird"] * size, tf.string))
        assert found["translation"].numpy().tolist() == one.tolist() * size


def test_a_text_that_is_too_long_says_so(served):
    found = served.signatures["translate_de"](
        text=tf.constant(["bird " * 200, "bird", b"\xff bird"])
    )
    assert found["complete"].numpy().tolist()[:2] == [False, True]
    assert found["translation"].numpy()[0]


def test_versions_follow_each_other_and_are_whole(exported, trained):
    out = exported.parent
    assert exported.name == "1" and newest_export(out) == exported
    (out / ".2.tmp").mkdir()  # what an interrupted export leaves
    second = export_saved_model(trained, SearchOptions(beams=1), out, lengths=(8,))
    assert second.name == "2" and newest_export(out) == second
    assert newest_export(second) == second
    assert [path.name for path in sorted(out.iterdir())] == ["1", "2"]
    assert Description.load(second).search.beams == 1
    assert newest_export(exported / "variables") is None


def test_from_the_command_line(sweep, tmp_path, monkeypatch, capsysbinary):
    """A trial that has never seen French serves German alone, unless asked, and one
    language needs no word for it."""
    checkpoint = ["--checkpoint", str(sweep / "train" / SECOND)]
    command = ["export", *checkpoint, "--out", str(tmp_path), "--lengths", "12"]
    assert cli.main([*command, "--beams", "1"]) == 0
    assert capsysbinary.readouterr().out.decode().strip() == str(tmp_path / "1")
    assert Description.load(tmp_path / "1").languages == ("de",)
    default = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    found = default(text=tf.constant(["the small house"]))
    assert found["translation"].numpy()[0] == b"Haus kleine das"
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the small house\n\nsees\n"))
    )
    assert cli.main(["translate", "--checkpoint", str(tmp_path), "--scores"]) == 0
    first, second, _ = capsysbinary.readouterr().out.decode().splitlines()
    assert first.startswith("Haus kleine das\t-") and second == "\t0.000000"
    for asked, message in (
        (["--beams", "4"], b"--beams: "),
        (["--from", "en"], b"--from: "),
        (["--zero-shot"], b"--zero-shot: "),
        (["--longest", "9"], b"is an exported model, which holds this already"),
        (["--to", "fr"], b"does not write this language, only de"),
    ):
        assert cli.main(["translate", "--checkpoint", str(tmp_path), *asked]) == 2
        assert message in capsysbinary.readouterr().err
    assert cli.main([*command[:-1], "12,8"]) == 2
    assert b"12,8; expected rising whole numbers" in capsysbinary.readouterr().err


def test_samples_cannot_be_served(trained, tmp_path):
    with pytest.raises(UserError, match="a SavedModel cannot sample"):
        export_saved_model(
            trained, SearchOptions(temperature=1.0), tmp_path, lengths=(8,)
        )
