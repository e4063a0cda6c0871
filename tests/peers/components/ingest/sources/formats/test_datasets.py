"""Hugging Face datasets, saved to disk by the library itself."""

import datasets
import pytest

from components.ingest.sources.corpus import Dataset
from models.errors import UserError
from tests.components.ingest.collect import texts


def test_hugging_face_datasets(tmp_path):
    rows = [{"en": f"hello {i}", "de": f"hallo {i}"} for i in range(3)]
    features = datasets.Features({"translation": datasets.Translation(["en", "de"])})
    data = datasets.Dataset.from_dict({"translation": rows}, features=features)
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "x")
    assert texts(tmp_path, "de-en", huggingface="x")[2] == ("hallo 2", "hello 2")
    with pytest.raises(UserError, match="no split dev; it has train, test"):
        texts(tmp_path, "de-en", huggingface="x", dataset=Dataset(split="dev"))
