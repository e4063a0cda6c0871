"""``points.csv``: what a fit used, as whoever draws it reads it."""

from __future__ import annotations

import math
from pathlib import Path

from components.fit import points, table
from components.fit.config import Config, HeldOut
from components.fit.runs import sort_rows

TABLE = """\
task,n,p,mixture,size,test_set,loss,n_enc,n_dec
a,1000,1,a=1,1k,news,3.25,400,600
a,2000,1,a=1,2k,news,3.0,800,1200
a,4000,0.25,"a=0.25,b=0.75",4k,news,2.1,,
b,4000,0.75,"a=0.25,b=0.75",4k,news,2.123456789012345,,
"""


def test_points_survive_the_disk(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    config = Config(held_out=HeldOut(sizes=("2k",), mixtures=({"a": 0.25, "b": 0.75},)))
    runs = sort_rows(table.read(tmp_path / "table.csv"), config, "table.csv")
    found = points.points_of(runs)
    assert [(one.task, one.size, one.use, one.held_out) for one in found] == [
        ("a", "1k", "fit", False),
        ("a", "2k", "size", True),
        ("a", "4k", "mixture", True),
        ("b", "4k", "mixture", True),
    ]
    assert found[0].weights == {"a": 1.0, "b": 0.0}
    assert found[3].weights == {"a": 0.25, "b": 0.75}
    assert found[1].n_enc == 800 and math.isnan(found[2].n_enc)
    points.save(tmp_path / points.FILE_NAME, found)
    again = points.load(tmp_path / points.FILE_NAME)
    assert str(again) == str(found)  # NaN is not equal to itself
    assert again[:2] == found[:2] and again[3].value == 2.123456789012345
