"""What stands on the terminal when a run is done."""

from __future__ import annotations

from pipeline import closing_lines

HEAD = "trial,task,test_set,size,n,p,kind,law,loss,predicted,low,high,error_percent"
HEAD += ",answers\n"
ROWS = """\
a_75k_p0.30_s0,en-de,in_domain,74k,75000,0.3,size,approximate,2.0,2.1,1.9,2.3,5.0,False
a_75k_p0.30_s0,en-de,in_domain,74k,75000,0.3,size,joint,2.0,2.01,1.95,2.07,0.5,True
a_75k_p0.30_s0,en-fr,in_domain,74k,75000,0.7,size,joint,2.5,2.45,2.46,2.49,-2.0,True
a_10k_p0.20_s0,en-de,in_domain,9k,10000,0.2,mixture,approximate,3.0,3.03,,,1.0,True
"""


def write(tmp_path, rows):
    (tmp_path / "fit").mkdir()
    path = tmp_path / "fit" / "held_out.csv"
    path.write_text(HEAD + rows, encoding="utf-8")
    return closing_lines.compose(tmp_path)


def test_each_measurement_is_compared_once_with_the_law_that_answers(tmp_path):
    text = write(tmp_path, ROWS)
    assert "2.0000     2.0100    1.9500 to 2.0700   +0.50%  joint" in text
    assert "+5.00%" not in text
    assert "error: median 1.25 %, worst 2.00 %; 1 of 2 measured values lie" in text
    assert "3.0000     3.0300              ? to ?   +1.00%  approximate" in text
    assert text.splitlines()[-1] == f"report: {tmp_path}/report/index.html"


def test_it_is_said_when_nothing_was_held_out(tmp_path):
    assert "nothing was held out" in write(tmp_path, "")
