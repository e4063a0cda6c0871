"""Time left, and how it is shown."""

import io
import logging

import pytest

from components.artifacts.trial import Trial
from components.train import progress_line
from components.train.group import Group
from components.train.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress_line, "time", clock)
    return clock


def group(size, weights):
    return Group(
        size,
        tuple(Trial("en-xx", size, (("en-de", p), ("en-fr", 1 - p))) for p in weights),
    )


LARGE, SMALL = group("9k", (0.3, 0.6)), group("2k", (0.1,))


def test_time_left_is_work_left_over_speed(clock):
    found = ProgressLine({LARGE: 300.0, SMALL: 100.0}, jobs=1)
    assert found.seconds_left() is None
    found.step(LARGE, 0, 40)
    clock.now += 30
    found.step(LARGE, 10, 40)
    # A quarter of 300 in 30 s: 325 are left.
    assert found.seconds_left() == pytest.approx(30 * 325 / 75)
    assert found.text() == (
        "0 of 3 trials, 30 s, 2 min 10 s left (9k at 25%, 1 min 30 s left)"
    )
    found.step(LARGE, 40, 40)
    clock.now += 90
    found.done(LARGE)
    assert found.seconds_left() == pytest.approx(120 * 100 / 300)
    assert found.text().startswith("2 of 3 trials, 2 min 00 s")


def test_a_resumed_group_has_its_speed_from_what_it_did_now(clock):
    found = ProgressLine({LARGE: 300.0}, jobs=1, before=1000.0)
    found.step(LARGE, 30, 40)
    clock.now += 20
    found.step(LARGE, 32, 40)
    # A twentieth in 20 s, and a fifth is left.
    assert found.seconds_left() == pytest.approx(80)
    assert found.seconds() == 1020


def test_the_last_group_alone_sets_the_time(clock):
    """With jobs side by side the sweep lasts at least as long as its slowest."""
    found = ProgressLine({LARGE: 100.0, SMALL: 100.0}, jobs=2)
    found.step(LARGE, 0, 100)
    found.step(SMALL, 0, 100)
    clock.now += 10
    found.step(SMALL, 90, 100)
    found.step(LARGE, 10, 100)
    assert found.seconds_left() == pytest.approx(90)


def test_log_lines_where_there_is_no_terminal(clock, monkeypatch, caplog):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    found = ProgressLine({LARGE: 300.0}, jobs=1)
    with caplog.at_level(logging.INFO, "components"):
        assert not found.step(LARGE, 0, 40)
        clock.now += 5
        assert not found.step(LARGE, 4, 40)
        clock.now += 6
        assert found.step(LARGE, 8, 40)
        found.done(LARGE)
        found.close()
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "train: 0 of 2 trials", "train: 2 of 2 trials"
    ]  # fmt: skip
    assert stream.getvalue() == ""


def test_one_moving_line_on_a_terminal(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    found = ProgressLine({LARGE: 300.0}, jobs=1)
    log = logging.getLogger("components.train.sweep")
    before = list(logging.getLogger("components").handlers)
    for step in range(0, 40, 4):
        clock.now += 1
        found.step(LARGE, step, 40)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert len(shown) == 11 and all(len(line) < 40 for line in shown)
    assert shown[3].startswith("train: 0 of 2 trials, 3.0 s, ")
    assert "\n" not in terminal.getvalue()
    log.warning("something")
    assert terminal.getvalue().endswith("\r\x1b[K")
    found.close()
    assert logging.getLogger("components").handlers == before[:-1]
