"""`polyscale translate` with a trained model."""

from __future__ import annotations

import io
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.serve.texts import TextTranslator, joint, split
from components.serve.trained import load_trained
from models.nmt.search_options import SearchOptions
from pipeline import cli
from tests.components.evaluate.small_sweep import TRIALS, WORDS

ROOT = Path(__file__).resolve().parents[3]
FIRST, SECOND = (trial.id for trial in TRIALS)


class Streams:
    """Standard input and output as bytes."""

    def __init__(self, monkeypatch):
        self.patch = monkeypatch

    def run(self, arguments: list[str], content: bytes) -> tuple[int, bytes]:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        self.patch.setattr(sys, "stdout", out)
        status = cli.main(["translate", *arguments])
        out.flush()
        return status, out.buffer.getvalue()


@pytest.fixture
def streams(monkeypatch):
    return Streams(monkeypatch)


def checkpoint(sweep, trial=FIRST) -> list[str]:
    return ["--checkpoint", str(sweep / "train" / trial)]


def test_lines_of_all_kinds_keep_their_places(sweep, streams, capsys):
    rng = random.Random(4)
    lines = [" ".join(rng.choices(WORDS["en"], k=rng.randint(1, 5))) for _ in range(60)]
    lines[7] = lines[31] = ""
    lines[12] = " ".join(["the small bird sees a green house"] * 9) + "."
    content = [line.encode() for line in lines]
    content[3] = b"bird \xf0\x9f\x98\x80 sees\r"
    content[5] = b"old \xffhouse"
    arguments = [*checkpoint(sweep), "--to", "de", "--window", "13"]
    status, out = streams.run(arguments, b"\n".join(content))
    assert status == 0
    found = out.decode().split("\n")
    assert found.pop() == "" and len(found) == 60
    assert found[7] == found[31] == ""
    # Translated alone, each is what it is among the others.
    trained = load_trained(sweep / "train" / FIRST)
    alone = TextTranslator(
        trained, SearchOptions(), to="de", tag="<2de>", longest=24, batch=1
    )
    for place in (0, 20, 44, 59):
        assert found[place] == alone.translate([lines[place]])[0][0].text
    assert len(found[12].split()) > 24
    logged = capsys.readouterr().err
    assert "1 of 60 lines were not UTF-8" in logged
    assert "1 of 60 lines were long and translated in pieces" in logged
    assert "lines," not in logged  # progress is for terminals


def test_scores_and_several_translations(sweep, streams):
    arguments = [*checkpoint(sweep), "--to", "fr", "--beams", "3"]
    content = b"the small house\n\nbird sees\n"
    _, scored = streams.run([*arguments, "--scores"], content)
    lines = scored.decode().splitlines()
    assert len(lines) == 3 and lines[1] == "\t0.000000"
    assert all(re.fullmatch(r"[^\t]*\t-?\d+\.\d{6}", line) for line in lines)
    _, many = streams.run([*arguments, "--nbest", "3"], content)
    rows = [line.split(" ||| ") for line in many.decode().splitlines()]
    assert [row[0] for row in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    scores = [float(row[2]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True) and len({r[1] for r in rows}) > 3
    assert f"{rows[0][1]}\t{rows[0][2]}" == lines[0]


def test_samples_differ_and_repeat_with_their_seed(sweep, streams):
    arguments = [*checkpoint(sweep), "--to", "de", "--temperature", "3"]
    content = b"the small house sees a bird\n" * 6
    first, again, other = (
        streams.run([*arguments, "--seed", seed], content)[1] for seed in "112"
    )
    assert first == again != other
    assert len(set(first.splitlines())) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "zh"], "does not know this language; it writes de, fr"),
        ([], "--to is missing"),
        (["--to", "fr", "--from", "de"], "was not trained for de-fr"),
        (["--to", "de", "--nbest", "5"], "--nbest: got 5, a beam of 4 finds no more"),
        (["--to", "de", "--beams", "0"], "--beams: got 0, expected at least 1"),
        (["--to", "de", "--tokens", "nowhere"], "nowhere: no index.json"),
    ],
)
def test_a_mistake_is_one_line(sweep, streams, capsys, arguments, message):
    status, out = streams.run([*checkpoint(sweep), *arguments], b"bird\n")
    assert status == 2 and out == b""
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_zero_shot_only_when_asked(sweep, streams, capsys):
    arguments = [*checkpoint(sweep, SECOND), "--to", "fr"]
    status, _ = streams.run(arguments, b"bird\n")
    assert status == 2 and "only for en-de; --zero-shot" in capsys.readouterr().err
    status, out = streams.run([*arguments, "--zero-shot"], b"bird\nhouse\n")
    assert status == 0 and out.count(b"\n") == 2


def test_no_model_there(streams, tmp_path, sweep, capsys):
    assert streams.run(["--checkpoint", "nowhere", "--to", "de"], b"")[0] == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert streams.run(["--checkpoint", str(tmp_path), "--to", "de"], b"")[0] == 2
    assert "not a finished trial; expected a folder" in capsys.readouterr().err
    assert streams.run(["--checkpoint", str(sweep), "--to", "de"], b"")[0] == 2
    assert "name one of its 2 trials" in capsys.readouterr().err


def begun(sweep) -> subprocess.Popen:
    """The command as a process that has translated one line and waits for more."""
    command = [sys.executable, "-m", "pipeline", "translate", *checkpoint(sweep)]
    process = subprocess.Popen(
        [*command, "--to", "de"], cwd=ROOT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b"old bird\n")
    process.stdin.flush()
    assert process.stdout.readline().strip()
    return process


@pytest.mark.slow
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_it_waits_for_a_line(sweep, told):
    """Nothing but a line says so, though a thread waits for standard input."""
    process = begun(sweep)
    process.send_signal(told)
    status = process.wait(timeout=60)
    assert status == {signal.SIGINT: 1, signal.SIGTERM: 75}[told]
    said = process.stderr.read().decode()
    assert said == "polyscale: stopped; lines translated: 1\n"
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.slow
def test_a_reader_that_leaves_ends_it_without_a_word(sweep):
    process = begun(sweep)
    process.stdout.close()
    process.stdin.write(b"small house\n")
    process.stdin.flush()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab .,!?。，😀\u0301\u2028", max_size=60), st.integers(1, 9))
def test_pieces_hold_the_whole_text(text, most):
    found = split(text, lambda piece: len(piece) <= most)
    assert all(piece == piece.strip() and 0 < len(piece) <= most for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_pieces_end_where_sentences_do():
    text = "Ein Satz mit Komma, und so. Noch einer! Und 3.5 sind drei? " * 2
    found = split(text, lambda piece: len(piece) <= 29)
    assert found[:2] == ["Ein Satz mit Komma, und so.", "Noch einer!"]
    chinese = split("我喜欢猫。他不喜欢狗，也不喜欢鱼。", lambda p: len(p) <= 9)
    assert chinese == ["我喜欢猫。", "他不喜欢狗，", "也不喜欢鱼。"]
    assert joint("zh_TW") == "" and joint("de") == " "
