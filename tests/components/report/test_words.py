"""Numbers and lists as people write them."""

from __future__ import annotations

import math

from components.report import words


def test_numbers_of_parameters_read_as_people_say_them() -> None:
    said = {750: "750", 2016: "2.02k", 66304: "66.3k", 999_999: "1M", 1.27e8: "127M",
            1_019_312_128: "1.02B"}  # fmt: skip
    assert {n: words.count_text(n) for n in said} == said


def test_shares_never_round_to_all() -> None:
    said = {0.5: "50.0 %", 0.9998: "99.98 %", 0.99998: "99.998 %", None: "–"}
    assert {share: words.percent(share) for share in said} == said


def test_what_is_open_is_not_a_number() -> None:
    assert words.number(math.nan) == "–" and words.number(None) == "–"
    assert words.span(0.5, math.inf) == "no interval"
    assert words.span(0.5, 0.75) == "0.50 to 0.75"
    assert words.with_error(0.3, math.inf) == "0.3000"
    assert words.with_error(0.3, 0.0123) == "0.3000 ± 0.012"


def test_lists_counts_and_durations() -> None:
    assert words.listed([]) == "" and words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.many(1, "size") == "1 size" and words.many(0, "size") == "0 sizes"
    assert words.grouped(1234567) == "1\u202f234\u202f567"
    assert [words.duration(s) for s in (7.26, 725, 12_000)] == [
        "7.3 s", "12 min 5 s", "3 h 20 min",
    ]  # fmt: skip
