"""``index.json`` as it is written and read."""

import dataclasses
import json

import pytest

from components.artifacts.token_index import TokenIndex
from models.errors import UserError
from tests.components.train.sweep_data import TASKS
from tests.components.train.token_files import write_tokens


def test_it_reads_what_it_wrote(tmp_path):
    write_tokens(tmp_path, train_rows=(60, 0))
    index = TokenIndex.load(tmp_path)
    split = index.tasks[TASKS[0]].splits["in_domain"]
    index.tasks[TASKS[0]].splits["in_domain"] = dataclasses.replace(split, nats=1.5)
    before = index.text()
    index.save(tmp_path)
    assert (tmp_path / "index.json").read_text() == before
    assert TokenIndex.load(tmp_path) == index
    assert [index.training_rows(task) for task in (*TASKS, "en-zh")] == [60, 0, 0]


def test_another_version_is_refused(tmp_path):
    write_tokens(tmp_path)
    record = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(record | {"version": 1}))
    with pytest.raises(UserError, match=r"version 1; expected .*--force tokenize"):
        TokenIndex.load(tmp_path)
