"""Loading a trained model, and what it refuses."""

from __future__ import annotations

import re
import shutil

import pytest

from components.serve.trained import load_trained
from models.errors import UserError
from tests.components.evaluate.small_sweep import TRIALS, evaluated

FIRST, SECOND = (trial.id for trial in TRIALS)


def test_a_vocabulary_put_in_the_place_of_another_is_noticed(sweep, tmp_path):
    shutil.copytree(sweep / "train", tmp_path / "train")
    shutil.copytree(sweep / "tokenize", tmp_path / "tokenize")
    path = tmp_path / "tokenize" / "vocabulary.model"
    # The same pieces, and so the same size, with two of them exchanged.
    model = path.read_bytes()
    exchanged = {b"<2de>": b"<2fr>", b"<2fr>": b"<2de>"}
    path.write_bytes(re.sub(b"<2(de|fr)>", lambda one: exchanged[one[0]], model))
    with pytest.raises(
        UserError, match=r"weights.npz: trained with another vocabulary"
    ):
        load_trained(tmp_path / "train" / FIRST)
    with pytest.raises(
        UserError, match=r"weights.npz: trained with another vocabulary"
    ):
        evaluated(tmp_path, tmp_path / "evaluate", None)


def test_damaged_weights_are_one_line(sweep, tmp_path):
    shutil.copytree(sweep / "train", tmp_path / "train")
    shutil.copytree(sweep / "tokenize", tmp_path / "tokenize")
    path = tmp_path / "train" / FIRST / "checkpoint" / "weights.npz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="weights.npz: damaged checkpoint") as error:
        load_trained(tmp_path / "train" / FIRST)
    assert "\n" not in str(error.value)


def test_the_folder_of_a_run_is_no_trial_but_names_some(sweep):
    with pytest.raises(UserError, match=f"name one of its 2 trials: .*{FIRST}"):
        load_trained(sweep)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((None,), "--to is missing; .* writes de, fr"),
        (("zh",), "--to zh: .* does not know this language; it writes de, fr"),
        (("fr",), "was not trained for any-fr, only for en-de; --zero-shot"),
        (("de", "fr"), "was not trained for fr-de"),
        (("de", "zh"), "--from zh: .* does not know this language; it reads en"),
    ],
)
def test_languages(sweep, asked, message):
    trained = load_trained(sweep / "train" / SECOND)
    with pytest.raises(UserError, match=message):
        trained.tag(*asked)
    assert trained.tag("fr", zero_shot=True) == "<2fr>"
    assert trained.tag("de", "en") == "<2de>"
