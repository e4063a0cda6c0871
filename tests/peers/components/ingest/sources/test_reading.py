"""Real files of every format, against the counts that their description gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from components.ingest.config import Config, TextTask
from components.ingest.sources.corpus import Columns, Encodings
from components.ingest.sources.inputs import list_inputs
from components.ingest.sources.reading import read
from tests.components.ingest.collect import batches

MOSES = "dirty/encodings/moses/vim"


def counted(data: Path, task: str, **corpus) -> tuple[int, list]:
    """How many pairs nothing is wrong with, and their sides."""
    config = Config(source="text", text={task: TextTask(**corpus)})
    found = []
    for number, entry in enumerate(list_inputs(config, data, (task,))):
        for batch in read(entry, number, config.synthetic):
            sides = zip(batch.sources, batch.targets, strict=True)
            found += [pair for i, pair in enumerate(sides) if i not in batch.faults]
    return len(found), found


def test_tmx_and_tsv(data):
    path = "raw_formats/tmx/tico19.all.en-fr.tmx.gz"
    assert counted(data, "en-fr", files=path)[0] == 3071
    assert counted(data, "fr-en", files=path)[0] == 3071
    table = {"files": "raw_formats/tsv/tatoeba.cmn.txt", "format": "tsv"}
    count, pairs = counted(data, "en-zh", **table, columns=Columns(1, 2))
    assert (count, pairs[0]) == (6000, ("Hi.", "嗨。"))
    names = {"files": "dirty/mlqe_critical/ende_*.tsv", "columns": Columns(2, 3)}
    assert counted(data, "en-de", **names)[0] == 3000 + 1000


@pytest.mark.parametrize(
    ("name", "task", "segments", "documents", "references"),
    [
        ("wmttest2022.en-zh.xml", "en-zh", 2037, 181, 2),
        ("newstest2021.de-fr.xml", "de-fr", 1000, 61, 0),
    ],
)
def test_wmt_xml(data, tmp_path, name, task, segments, documents, references):
    path = str(data / "raw_formats" / "wmt_xml" / name)
    found = batches(tmp_path, task, "news", files=path)
    details = [detail for batch in found for detail in batch.details]
    assert len(details) == segments
    assert len({detail["document"] for detail in details}) == documents
    widths = Counter(len(detail.get("references", ())) for detail in details)
    assert widths == {references: segments}
    assert {origin for batch in found for origin in batch.origins} == {"source"}


@pytest.mark.parametrize(
    ("pair", "encoding", "lines"),
    [
        ("en-de", "iso-8859-1", 3049),
        ("en-fr", "iso-8859-15", 2161),
        ("en-zh", "gb2312", 3071),
        ("en-zh-tw", "big5", 1410),
    ],
)
def test_lines_in_legacy_encodings(data, pair, encoding, lines):
    task = pair.replace("-tw", "_tw")
    files = {
        "source": f"{MOSES}.{pair}.en.utf-8.txt",
        "target": f"{MOSES}.{pair}.{pair[3:]}.{encoding}.txt",
    }
    count, pairs = counted(data, task, **files, encoding=Encodings(target=encoding))
    assert count == lines
    # Western encodings differ in a few signs, which the library does not tell apart.
    detected = counted(data, task, **files, encoding="detect")[1]
    same = sum(one == other for one, other in zip(pairs, detected, strict=True))
    assert same > 0.6 * lines


@pytest.mark.parametrize(
    ("name", "task", "both"),
    [
        ("newstest2014", "en-de", (1505, 1498)),
        ("newstest2018", "en-de", (1500, 1498)),
        ("newstest2018", "en-zh", (1500, 2481)),
    ],
)
def test_origins_of_news(data, tmp_path, name, task, both):
    folder = data / "news" / task
    found = batches(
        tmp_path,
        task,
        name,
        source=str(folder / f"{name}.en.txt"),
        target=str(folder / f"{name}.{task[3:]}.txt"),
        origin=str(folder / f"{name}.origlang.txt"),
    )
    origins = Counter(origin for batch in found for origin in batch.origins)
    assert (origins["source"], origins["target"]) == both
