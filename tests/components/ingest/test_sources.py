"""Several sources of one task through the whole step, near and far; with real Beam."""

from __future__ import annotations

import bz2
import errno
import importlib.util
import io
import json
import subprocess
import sys

import pyarrow as pa
import pytest
import zstandard
from apache_beam.io.filesystem import FileMetadata, FileSystem
from pyarrow import parquet

from components import ingest
from components.artifacts.text_shards import read_shard, split_shards
from components.ingest.config import Config, Corpus, TextTask, TextTestSet
from components.ingest.sources.corpus import Columns
from components.ingest.sources.inputs import files_of, list_inputs
from models.errors import UserError
from pipeline.loader import build

WORDS = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo".split()


def sentence(i: int) -> tuple[str, str]:
    """Two sides that no cleaning rule minds."""
    words = [WORDS[i % 11], WORDS[i // 11 % 11], WORDS[i // 121 % 11]]
    return f"the {' '.join(words)} goes", f"der {' '.join(words[::-1])} geht"


def records_of(folder, split: str) -> list[dict]:
    return [
        record for path in split_shards(folder, split) for record in read_shard(path)
    ]


def write_sources(base) -> None:
    """Sixty pairs in each of five forms."""
    rows = [sentence(i) for i in range(300)]
    lines = zip(*rows[:60], strict=True)
    for side, texts in zip(("en", "de"), lines, strict=True):
        text = "".join(f"{line}\n" for line in texts).encode()
        (base / f"a.{side}.zst").write_bytes(zstandard.ZstdCompressor().compress(text))
    table = "".join(f"{en}\t{de}\n" for en, de in rows[60:120])
    (base / "b.tsv.bz2").write_bytes(bz2.compress(table.encode()))
    records = [{"x": {"en": en, "de": de}} for en, de in rows[120:180]]
    (base / "c.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in records))
    columns = {
        "en": [en for en, _ in rows[180:240]],
        "de": [d for _, d in rows[180:240]],
    }
    parquet.write_table(pa.table(columns), base / "d.parquet", row_group_size=25)
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{en}</seg></tuv>'
        f'<tuv xml:lang="de"><seg>{de}</seg></tuv></tu>'
        for en, de in rows[240:]
    )
    (base / "e.tmx").write_text(f"<tmx><body>{units}</body></tmx>")


def a_task(**options) -> TextTask:
    corpora = [
        Corpus(files="b.tsv.bz2", columns=Columns(1, 2)),
        Corpus(files="*.jsonl"),
        Corpus(files="d.parquet"),
        Corpus(files="e.tmx"),
    ]
    return TextTask("a.en.zst", "a.de.zst", corpora=tuple(corpora), **options)


def a_config(task: TextTask) -> Config:
    return Config(
        source="text",
        text={"en-de": task},
        test_sentences=10,
        shards=2,
    )


def test_a_task_of_many_sources_and_a_test_set_with_references(tmp_path):
    write_sources(tmp_path)
    leaked, other = sentence(130)
    (tmp_path / "news.xml").write_text(
        '<dataset><doc origlang="en" id="d1"><src lang="en"><seg id="1">Fresh&#10; news'
        '</seg></src><ref lang="de"><seg id="1">Neues</seg></ref>'
        f'<ref lang="de"><seg id="1">{other.upper()}</seg></ref></doc></dataset>'
    )
    (tmp_path / "bad.jsonl").write_text('{"x": {"en": "a", "de": "b"}}\n{"x": 1\n')
    task = a_task(test_sets={"news": TextTestSet(files="news.xml")})
    output = tmp_path / "out"
    made = ingest.run(a_config(task), base=tmp_path, tasks=("en-de",), output=output)
    counts = made.counts["en-de"]
    assert counts["read"] == 303
    assert counts["rejected"]["malformed"] == 1
    assert counts["rejected"]["overlaps_test"] >= 1
    (record,) = records_of(output / "en-de", "news")
    assert record == {
        "source": "Fresh news",
        "target": "Neues",
        "origin": "source",
        "references": ["Neues", other.upper()],
        "document": "d1",
    }
    trained = records_of(output / "en-de", "train")
    assert (leaked, other) not in {(r["source"], r["target"]) for r in trained}
    assert set(trained[0]) == {"source", "target"}
    letters = records_of(output / "dead_letters", "en-de")
    malformed = [letter for letter in letters if letter["rule"] == "malformed"]
    assert [(x["file"], x["line"], x["source"]) for x in malformed] == [
        ("bad.jsonl", 2, '{"x": 1')
    ]


class Memory(FileSystem):
    """A remote file system as Beam knows them, in this process."""

    files: dict[str, bytes] = {}

    @classmethod
    def scheme(cls):
        return "memory"

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        for path, content in self.files.items():
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(content))

    def open(self, path, mime_type=None, compression_type=None):
        if path not in self.files:
            raise OSError(errno.ENOENT, "no such object", path)
        return io.BytesIO(self.files[path])

    def checksum(self, path):
        return str(hash(self.files[path]))

    def exists(self, path):
        return path in self.files

    def size(self, path):
        return len(self.files[path])

    def last_updated(self, path):
        return 0.0

    def metadata(self, path):
        return FileMetadata(path, len(self.files[path]))

    def create(self, path, mime_type=None, compression_type=None):
        raise NotImplementedError

    mkdirs = copy = rename = delete = create


def test_files_of_a_remote_file_system_are_read_as_those_here(tmp_path):
    write_sources(tmp_path)
    here = tmp_path / "here"
    ingest.run(a_config(a_task()), base=tmp_path, tasks=("en-de",), output=here)
    for path in tmp_path.glob("?.*"):
        Memory.files[f"memory://bucket/{path.name}"] = path.read_bytes()
    names = ("b.tsv.bz2", "?.jsonl", "d.parquet", "e.tmx")
    corpora = [Corpus(files=f"memory://bucket/{name}") for name in names]
    corpora[0] = Corpus(files=corpora[0].files, columns=Columns(1, 2))
    task = TextTask(
        "memory://bucket/a.en.zst", "memory://bucket/a.de.zst", corpora=tuple(corpora)
    )
    far = tmp_path / "far"
    made = ingest.run(a_config(task), base=tmp_path, tasks=("en-de",), output=far)
    assert records_of(far / "en-de", "train") == records_of(here / "en-de", "train")
    Memory.files["memory://bucket/e.tmx"] += b" "
    changed = ingest.run(a_config(task), base=tmp_path, tasks=("en-de",), output=far)
    assert changed.key != made.key
    with pytest.raises(UserError, match=r"files: no file memory://bucket/z\*"):
        lost = TextTask(files="memory://bucket/z*")
        list_inputs(a_config(lost), tmp_path, ("en-de",))


@pytest.mark.skipif(
    importlib.util.find_spec("boto3") is not None, reason="the extra is installed"
)
def test_a_file_system_that_is_not_installed_names_its_extra(tmp_path):
    task = TextTask(files="s3://bucket/a.tmx")
    message = r"files: s3://bucket/a\.tmx: .* 'apache-beam\[aws\]'"
    with pytest.raises(UserError, match=message):
        list_inputs(a_config(task), tmp_path, ("en-de",))


def test_the_experiment_file_says_it_all():
    task = build(
        TextTask,
        {
            "corpora": [
                {"files": "a/*.tsv.gz", "columns": {"source": 1, "target": "de"}},
                {"tfds": "wmt19_translate/de-en", "dataset": {"split": "train[:1%]"}},
            ],
            "test_sets": {
                "news": {
                    "source": "n.sgm",
                    "target": "r.sgm",
                    "encoding": {"target": "big5"},
                }
            },
        },
    )
    assert task.corpora[0].columns == Columns(1, "de")
    assert task.corpora[1].dataset.split == "train[:1%]"
    assert task.test_sets["news"].encoding_of("target") == "big5"
    assert task.test_sets["news"].encoding_of("source") is None
    with pytest.raises(UserError, match=r"corpora\[1\].target: missing"):
        build(TextTask, {"corpora": [{"files": "a"}, {"source": "b"}]}, "ingest.text.x")


FULL = """
import resource, signal, sys
from pathlib import Path
from components import ingest
from tests.components.ingest.test_sources import a_config, a_task
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
base = Path(sys.argv[1])
ingest.run(a_config(a_task()), base=base, tasks=("en-de",), output=base / "out")
"""


@pytest.mark.slow
def test_a_disk_without_room_leaves_nothing_that_looks_whole(tmp_path):
    write_sources(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "out: cannot be written: File too large; make room" in last
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("task", ["en-dr", "xx-de", "zh_tw-ZH_TW"])
def test_a_code_that_is_no_language_is_told(tmp_path, task):
    config = Config(source="text", text={task: TextTask("a", "b")})
    with pytest.raises(UserError, match=f"task {task}"):
        list_inputs(config, tmp_path, (task,))


def test_every_file_that_is_read_is_among_the_inputs(tmp_path):
    for name in ("a.en", "a.de", "b.de", "c.de", "n.en", "n.de", "n.origin", "m.tmx"):
        (tmp_path / name).write_text("x\n")
    news = TextTestSet("n.en", "n.de", origin="n.origin", references=("c.de",))
    task = TextTask(
        "a.en",
        "a.de",
        corpora=(Corpus("a.en", "b.de"), Corpus(files="m.tmx")),
        test_sets={"news": news},
    )
    inputs = list_inputs(a_config(task), tmp_path, ("en-de",))
    read = sorted(path.rpartition("/")[2] for path in files_of(inputs).values())
    assert read == sorted(
        ["a.en", "a.en", "a.de", "b.de", "m.tmx", "n.en", "n.de", "n.origin", "c.de"]
    )
