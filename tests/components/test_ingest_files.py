"""Files as people have them: odd, damaged or not there; with real Beam."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from components import ingest
from components.artifacts.text_shards import read_shard, split_shards
from components.ingest.cleaning.rules import Rules
from components.ingest.config import TextTask
from models.errors import UserError


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def a_config(source: str, target: str, test_sentences: int) -> ingest.Config:
    return ingest.Config(
        source="text",
        text={"en-de": TextTask(source, target)},
        test_sentences=test_sentences,
        rules=Rules(copied=None),
        shards=2,
    )


def records_of(output: Path, name: str) -> list[dict]:
    task, _, split = name.partition("/")
    paths = split_shards(output / task, split)
    return [record for path in paths for record in read_shard(path)]


def test_windows_files_byte_order_marks_and_odd_lines(tmp_path):
    sources = [f"sentence number {i}" for i in range(40)]
    targets = [f"Satz Nummer {i}" for i in range(40)]
    sources[0] = "\ufeff" + sources[0]
    sources[7] = "two\u2028halves\u0085of\x0cone"
    text = "\r\n".join(sources)
    (tmp_path / "a.en").write_bytes(text.encode())
    encoded = [target.encode() for target in targets]
    encoded[3], encoded[9] = "grün".encode("latin-1"), b"nul\0byte"
    (tmp_path / "a.de.gz").write_bytes(gzip.compress(b"\n".join(encoded) + b"\n"))
    config = a_config("a.en", "a.de.gz", 5)
    output = tmp_path / "ingest"
    ingest.run(config, base=tmp_path, tasks=("en-de",), output=output)
    records = [
        record
        for split in ("train", "in_domain")
        for record in records_of(output, f"en-de/{split}")
    ]
    pairs = {record["source"]: record["target"] for record in records}
    assert len(pairs) == 38
    assert pairs["sentence number 0"] == "Satz Nummer 0"
    assert pairs["two halves of one"] == "Satz Nummer 7"
    letters = records_of(output, "dead_letters/en-de")
    assert [(x["line"], x["rule"]) for x in letters] == [
        (4, "not_text"),
        (10, "not_text"),
    ]
    assert letters[0]["target"] == "gr\\xfcn"


def test_globs_are_paired_in_order_and_plain_names_may_hold_brackets(tmp_path):
    base = tmp_path / "[my] texts"
    for part, count in (("b", 30), ("a", 20), ("c", 10)):
        for side in ("en", "de"):
            lines = [f"{side} {part} {i}" for i in range(count)]
            write(base / "deep" / part / f"x.{side}", lines)
    write(base / "one [1].en", ["en a", "en b", "en c", "en d"])
    write(base / "one [1].de", ["de a", "de b", "de c", "de d"])
    for source, target, read in (
        ("deep/*/x.en", "deep/*/x.de", 60),
        ("deep/**/*.en", "deep/**/*.de", 60),
        ("one [1].en", "one [1].de", 4),
    ):
        config = a_config(source, target, 2)
        output = base / f"ingest-{read}"
        manifest = ingest.run(config, base=base, tasks=("en-de",), output=output)
        assert manifest.counts["en-de"]["accepted"] == read
        for record in records_of(output, "en-de/train"):
            assert record["target"] == record["source"].replace("en ", "de ")


def broken(base: Path, name: str) -> tuple[str, str]:
    """Two files in the way of ``name``, for the test below."""
    lines = [f"Zeile {i}" for i in range(5000)]
    write(base / "a.en", [f"line {i}" for i in range(5000)])
    write(base / "a.de", lines)
    if name == "misaligned":
        write(base / "a.de", lines[:1203] + lines[1205:])
    elif name == "empty":
        (base / "a.en").write_bytes(b"")
        (base / "a.de").write_bytes(b"")
    elif name == "cut off":
        whole = gzip.compress("\n".join(lines).encode())
        (base / "a.de.gz").write_bytes(whole[: len(whole) // 2])
        return "a.en", "a.de.gz"
    elif name == "not gzip":
        write(base / "a.de.gz", lines)
        return "a.en", "a.de.gz"
    elif name == "folder":
        (base / "a").mkdir()
        return "a.en", "a"
    elif name == "missing":
        return "a.en", "b.de"
    elif name == "same file":
        return "a.en", "../text/a.en"
    elif name == "uneven globs":
        write(base / "b.en", lines)
        return "*.en", "*.de"
    elif name == "utf-16":
        (base / "a.de").write_bytes("\n".join(lines).encode("utf-16-le"))
    elif name == "few":
        write(base / "a.en", [line.lower() + "!" for line in lines[:30]])
        write(base / "a.de", lines[:30])
    elif name == "binary":
        (base / "a.de").write_bytes(bytes(range(256)) * 40)
    elif name == "same text":
        write(base / "a.de", [f"line {i}" for i in range(5000)])
    elif name == "archive":
        return "a.en", "a.zip"
    return "a.en", "a.de"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "misaligned",
            r"a\.en has 5000 lines, .*a\.de has 4998; expected .*skip",
        ),
        ("empty", r"a\.en: the file is empty"),
        ("cut off", r"a\.de\.gz: cannot be read beyond byte .* damaged"),
        ("not gzip", r"a\.de\.gz: cannot be read .* not what its name says"),
        ("folder", r"ingest\.text\.en-de\.target: .* is a folder"),
        ("missing", r"ingest\.text\.en-de\.target: no file .*b\.de"),
        ("same file", r"source and target are the same file"),
        ("uneven globs", r"matches 2 files and \*\.de matches 1"),
        ("utf-16", r"a\.de: .* UTF-16 without .* mark needs encoding: utf-16-le"),
        ("binary", r"a\.de: a binary file"),
        (
            "same text",
            r"train: a\.en: the sides of 100% of the pairs are the same text",
        ),
        ("few", r"30 sentences can be held out, .* is 40; ask for fewer"),
        ("archive", r"a\.zip is an archive"),
    ],
)
def test_files_that_cannot_be_used_are_explained(tmp_path, name, message):
    base = tmp_path / "text"
    source, target = broken(base, name)
    config = a_config(source, target, 40)
    with pytest.raises(UserError, match=message) as caught:
        ingest.run(config, base=base, tasks=("en-de",), output=base / "ingest")
    assert "\n" not in str(caught.value)
    assert not (base / "ingest").exists()


def test_a_task_without_files_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no files for task de-zh; it names en-de"):
        ingest.run(
            a_config("a", "b", 3),
            base=tmp_path,
            tasks=("de-zh",),
            output=tmp_path / "x",
        )
