"""Datasets of TensorFlow, prepared on disk by the library itself, and of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from components.ingest.config import Config, TextTask
from components.ingest.sources.corpus import Columns, Dataset
from components.ingest.sources.inputs import files_of, list_inputs
from models.errors import UserError
from tests.components.ingest.collect import batches, pairs, texts


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """Two small builders, with features of both kinds."""
    import tensorflow_datasets as tfds

    folder = tmp_path_factory.mktemp("datasets")

    class Small(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=self.features)

        def _split_generators(self, manager):
            return {
                split: self._generate_examples(count)
                for split, count in (("train", 25), ("test", 4))
            }

        def _generate_examples(self, count):
            yield from ((i, self.example(i)) for i in range(count))

    class SmallTranslate(Small):
        __module__ = "small"  # a namespace package, as tests are, is too much for it
        BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="de-en")]
        features = tfds.features.Translation(languages=("de", "en"))

        def example(self, i):
            return {"de": f"Satz {i} ü", "en": f"sentence {i}"}

    class SmallTalks(Small):
        __module__ = "small"
        features = tfds.features.FeaturesDict(
            {
                "translations": tfds.features.TranslationVariableLanguages(
                    languages=("de", "en", "fr")
                ),
                "talk_name": tfds.features.Text(),
            }
        )

        def example(self, i):
            translations = {"en": [f"first {i}", f"second {i}"], "fr": f"phrase {i}"}
            if i % 5 == 0:
                del translations["fr"]
            return {"translations": translations, "talk_name": f"talk {i}"}

    for builder in (SmallTranslate, SmallTalks):
        builder(data_dir=str(folder)).download_and_prepare()
    return folder


@pytest.mark.slow
def test_a_builder_is_read_in_parts(prepared, monkeypatch):
    monkeypatch.setattr("components.ingest.sources.formats.datasets.PART_EXAMPLES", 10)
    corpus = {
        "tfds": "small_translate/de-en",
        "dataset": Dataset(folder=prepared.name),
    }
    base = prepared.parent
    read = batches(base, "en-de", **corpus)
    assert len(read) == 3
    found = texts(base, "en-de", **corpus)
    assert sorted(found) == sorted((f"sentence {i}", f"Satz {i} ü") for i in range(25))
    assert [line for line, *_ in pairs(base, "en-de", **corpus)] == list(range(1, 26))
    part = {**corpus, "dataset": Dataset(folder=prepared.name, split="test[:50%]")}
    assert len(texts(base, "de-en", "news", **part)) == 2
    folder = "small_translate/de-en/1.0.0"
    assert len(texts(prepared, "de-en", tfds=folder)) == 25


@pytest.mark.slow
def test_talks_with_some_of_many_languages(prepared):
    corpus = {"tfds": "small_talks", "dataset": Dataset(folder=".")}
    found = pairs(prepared, "en-fr", **corpus, columns=Columns(document="talk_name"))
    by_source = {source: target for _, source, target, _ in found}
    assert by_source["first 7"] == "phrase 7"
    assert by_source["first 10"] == ""
    assert len(by_source) == 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "task", "message"),
    [
        ("small_translate/de-en", {"split": "tesr"}, "en-de", "did you mean test"),
        ("small_translate/de-en", {}, "en-zh", "no column zh; it has de, en"),
        ("small_translate/de-en", {"folder": "none"}, "en-de", "not prepared in"),
        ("smal_translate", {}, "en-de", "no such dataset"),
    ],
)
def test_datasets_that_cannot_be_used_are_explained(
    prepared, name, options, task, message
):
    dataset = Dataset(**{"folder": ".", **options})
    with pytest.raises(UserError, match=message) as caught:
        texts(prepared, task, tfds=name, dataset=dataset)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_the_files_that_describe_a_dataset_belong_to_the_inputs(tmp_path):
    for version in ("1.0.0", "1.1.0"):
        folder = tmp_path / "data" / "some_translate" / "de-en" / version
        folder.mkdir(parents=True)
        (folder / "dataset_info.json").write_text("{}")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "state.json").write_text("{}")
    dataset = Dataset(folder="data")
    text = {
        "de-en": TextTask(tfds="some_translate/de-en", dataset=dataset),
        "en-fr": TextTask(huggingface="saved"),
    }
    inputs = list_inputs(Config(source="text", text=text), tmp_path, tuple(text))
    files = list(files_of(inputs).values())
    assert [Path(file).parent.name for file in files] == ["1.0.0", "1.1.0", "saved"]


def test_a_library_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match="pip install datasets"):
        texts(tmp_path, "en-de", huggingface="some/corpus")
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(UserError, match="pip install tensorflow tensorflow-datasets"):
        texts(tmp_path, "en-de", tfds="some_translate/de-en")
