"""Files that lose each other: where, on text with known losses."""

from __future__ import annotations

import random

import pytest

from components.ingest.sources.shift import describe
from models.errors import UserError
from tests.components.ingest.collect import pairs, texts


def a_text(seed: int, count: int) -> tuple[list[str], list[str]]:
    """Sentences and translations that have lengths, digits and marks in common."""
    rng = random.Random(seed)
    sources, targets = [], []
    for _ in range(count):
        length = rng.randint(2, 20)
        words = ["w" * rng.randint(2, 9) for _ in range(length)]
        other = ["v" * rng.randint(2, 9) for _ in range(length + rng.randint(-1, 1))]
        if rng.random() < 0.2:
            number = str(rng.randint(10, 9999))
            words.append(number)
            other.append(number)
        mark = rng.choice(".....?!")
        sources.append(" ".join(words) + mark)
        targets.append(" ".join(other) + mark)
    return sources, targets


@pytest.mark.parametrize(
    ("seed", "lost"), [(1, [1202, 3105]), (2, [7]), (3, [400, 401, 402]), (4, [3990])]
)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_loss_is_found(seed, lost, side):
    both = [list(lines) for lines in a_text(seed, 4000)]
    both[side] = [line for i, line in enumerate(both[side], 1) if i not in lost]
    words = describe(*both, *map(len, both)).split()
    first, last = int(words[words.index("line") + 1]), int(words[-2])
    assert first <= lost[0] <= last
    assert last - first <= 40


def test_nothing_is_said_where_nothing_can_be_known():
    sources, targets = a_text(5, 500)
    assert describe(sources, targets[:300], 500, 300) == ""
    same = ["the same"] * 500
    assert describe(same, same[1:], 500, 499) == ""
    assert describe(["a"], [], 1, 0) == ""


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def test_misaligned_files_stop_or_go_to_the_dead_letters_whole(tmp_path):
    sources, targets = a_text(6, 6000)
    write(tmp_path / "a.en", sources)
    write(tmp_path / "a.de", targets[:5000] + targets[5002:])
    files = {"source": "a.en", "target": "a.de"}
    with pytest.raises(
        UserError, match=r"a\.en has 6000 lines, .*a\.de has 5998; they differ from "
    ):
        texts(tmp_path, "en-de", **files)
    found = pairs(tmp_path, "en-de", **files, misaligned="skip")
    assert [line for line, *_ in found] == list(range(1, 6001))
    assert {fault for *_, fault in found} == {"misaligned_files"}
    assert found[-1][1:3] == (sources[-1], "")
    write(tmp_path / "a.de", targets)
    assert len(texts(tmp_path, "en-de", **files, misaligned="skip")) == 6000


def test_a_further_reference_must_be_aligned_too(tmp_path):
    sources, targets = a_text(7, 50)
    for name, lines in (("a.en", sources), ("a.de", targets), ("b.de", targets[:-1])):
        write(tmp_path / name, lines)
    files = {"source": "a.en", "target": "a.de", "references": ("b.de",)}
    with pytest.raises(
        UserError, match=r"a\.en has 50 lines, .*b\.de has 49; expected"
    ):
        texts(tmp_path, "en-de", "news", **files)
