"""Line-aligned files: places, references, origins, and files that do not fit."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from components.ingest.sources import text_files
from models.errors import UserError
from tests.components.ingest.collect import batches, pairs, texts

SIDES = {"source": "a.en", "target": "a.de"}


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(text_files, "BATCH", 3)
    monkeypatch.setattr("components.ingest.sources.reading.BATCH", 3)


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def a_text(seed: int, count: int) -> tuple[list[str], list[str]]:
    """Sentences of 10 to 160 characters and translations 1.5 times as long."""
    rng = random.Random(seed)
    lengths = [rng.randint(10, 160) for _ in range(count)]
    return ["w" * n for n in lengths], ["v" * (3 * n // 2) for n in lengths]


def test_batches_carry_their_place_and_their_bad_lines(tmp_path, small_batches):
    (tmp_path / "a.en").write_bytes(b"1\n2\n3\n4\n\xff\n6\n7")
    (tmp_path / "a.de").write_bytes(b"1\n2\n3\n4\n5\n\xfe\n7")
    found = batches(tmp_path, "en-de", "news", **SIDES, origin="source")
    assert [list(batch.places) for batch in found] == [[1, 2, 3], [4, 5, 6], [7]]
    assert [set(batch.faults) for batch in found] == [set(), {1, 2}, set()]
    assert found[1].origins == ["source"] * 3


@pytest.mark.parametrize(("left", "right"), [(9, 8), (3, 7), (6, 5), (0, 4)])
def test_misaligned_files_are_counted_to_their_ends(
    tmp_path, small_batches, left, right
):
    for name, count in (("a.en", left), ("a.de", right)):
        write(tmp_path / name, ["x"] * count)
    message = rf"a\.en has {left} lines, .*a\.de has {right}; expected line-aligned"
    with pytest.raises(UserError, match=message):
        texts(tmp_path, "en-de", **SIDES)


@pytest.mark.parametrize(("seed", "lost"), [(1, 1202), (2, 7), (3, 399)])
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_impossible_line_is_near_the_first_lost_one(
    tmp_path, seed, lost, side
):
    both = a_text(seed, 2000)
    del both[side][lost - 1]
    for name, lines in zip(SIDES.values(), both, strict=True):
        write(tmp_path / name, lines)
    with pytest.raises(UserError, match="is the first with impossible lengths") as info:
        texts(tmp_path, "en-de", **SIDES)
    (line,) = [part for part in str(info.value).split("; ") if part.startswith("line")]
    assert lost <= int(line.split()[1]) <= lost + 80


def test_misaligned_files_may_go_to_the_dead_letters_whole(tmp_path):
    sources, targets = a_text(6, 6000)
    write(tmp_path / "a.en", sources)
    write(tmp_path / "a.de", targets[:5000] + targets[5002:])
    found = pairs(tmp_path, "en-de", **SIDES, misaligned="skip")
    assert [line for line, *_ in found] == list(range(1, 6001))
    assert {fault for *_, fault in found} == {"misaligned_files"}
    assert found[-1][1:3] == (sources[-1], "")
    write(tmp_path / "a.de", targets)
    assert len(texts(tmp_path, "en-de", **SIDES, misaligned="skip")) == 6000


def test_a_further_reference_must_be_aligned_too(tmp_path):
    sources, targets = a_text(7, 50)
    for name, lines in (("a.en", sources), ("a.de", targets), ("b.de", targets[:-1])):
        write(tmp_path / name, lines)
    with pytest.raises(
        UserError, match=r"a\.en has 50 lines, .*b\.de has 49; expected"
    ):
        texts(tmp_path, "en-de", "news", **SIDES, references=("b.de",))
    write(tmp_path / "b.de", [text.upper() for text in targets])
    (batch,) = batches(tmp_path, "en-de", "news", **SIDES, references=("b.de",))
    assert batch.details[3] == {"references": [targets[3], targets[3].upper()]}


def test_a_list_of_origins_may_name_other_languages(tmp_path):
    for name in SIDES.values():
        write(tmp_path / name, [f"{name} {i}" for i in range(7)])
    origins = ["en", "de", "fr", "source", "mixed", "zh-TW", "EN_gb"]
    write(tmp_path / "origin", origins)
    (batch,) = batches(tmp_path, "en-de", "news", **SIDES, origin="origin")
    expected = ["source", "target", "mixed", "source", "mixed", "mixed", "source"]
    assert batch.origins == expected


@pytest.mark.parametrize(
    ("origins", "message"),
    [
        (["en", "de", "sorce"], r"origin: line 3 is 'sorce'; expected .*, en, de or"),
        (["en", "de", "xx"], r"origin: line 3 is 'xx'; expected"),
        (["en"], r"a\.en has 4 lines, .*origin has 1"),
        (["en"] * 5, r"a\.en has 4 lines, .*origin has 5"),
    ],
)
def test_origins_that_do_not_fit_are_explained(
    tmp_path, small_batches, origins, message
):
    for name in SIDES.values():
        write(tmp_path / name, [name] * 4)
    write(tmp_path / "origin", origins)
    with pytest.raises(UserError, match=message):
        texts(tmp_path, "en-de", "news", **SIDES, origin="origin")
