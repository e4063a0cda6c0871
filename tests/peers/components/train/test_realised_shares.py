"""Weights are shares of examples although rows are packed, on real text."""

import gzip

import numpy as np
import pytest

from tests.components.train.test_realised_shares import check_realised_shares


@pytest.mark.parametrize("counted", [0, 1], ids=["examples", "target_tokens"])
def test_realised_shares_are_the_weights(data, counted):
    check_realised_shares(words_of_tatoeba(data / "tatoeba"), counted)


def words_of_tatoeba(folder):
    tasks = []
    for task, target in (("en-de", "de"), ("en-fr", "fr")):
        texts = [first_lines(folder / task, side, 8000) for side in ("en", target)]
        tasks.append([np.array([len(s.split()) + 1 for s in text]) for text in texts])
    # Tasks as far apart as such text has them: the longer half of one.
    source, target = tasks[1]
    longer = np.flatnonzero(target >= np.median(target))
    return [tasks[0], [source[longer], target[longer]]]


def first_lines(folder, side, count):
    (path,) = folder.glob(f"train.{side}.txt*")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line for line, _ in zip(file, range(count), strict=False)]
