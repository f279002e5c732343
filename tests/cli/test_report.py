"""Tables, JSON and the progress bar."""

import io
import json

import numpy as np
import pytest

from gpukit.cli import report


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_table_lines_up(capsys):
    rows = [{"name": "mean", "rmse": 1.5, "n": 3}, {"name": "a longer one", "rmse": None, "n": 20}]
    report.print_table(rows, {"name": "predictor", "rmse": "RMSE", "n": "n"}, title="Errors")
    assert capsys.readouterr().out.splitlines() == [
        "Errors",
        "  predictor       RMSE   n",
        "  mean          1.5000   3",
        "  a longer one       -  20",
    ]


def test_json_has_plain_values_only(capsys):
    report.print_json(
        {"a": np.float32(0.5), "b": np.arange(2), "c": float("nan"), "d": (1, np.int64(2)), "e": {3: np.inf}}
    )
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": [0, 1], "c": None, "d": [1, 2], "e": {"3": None}}


@pytest.mark.parametrize("quiet, stream", [(True, Terminal()), (False, io.StringIO())])
def test_no_bar_when_quiet_or_not_a_terminal(quiet, stream):
    with report.Progress(quiet, stream) as progress:
        progress("training", 1, 2, {"rmse": 1.0})
    assert stream.getvalue() == ""


def test_the_bar_is_drawn_and_cleared():
    stream = Terminal()
    with report.Progress(stream=stream) as progress:
        progress("training", 1, 2, {"rmse": 0.5})
        progress("training", 2, 2, {"rmse": 0.25})
    drawn = stream.getvalue().split("\r\x1b[K")
    assert "training [############............] 1/2  rmse 0.5000" in drawn
    assert drawn[-1] == "" and "rmse 0.2500" in drawn[-2]


def test_the_bar_is_drawn_seldom():
    stream = Terminal()
    progress = report.Progress(stream=stream)
    for done in range(10000):
        progress("reading", done, 100000)
    assert stream.getvalue().count("\r") < 50


def test_an_unknown_total():
    assert report.bar_line("reading", 7, None, {}) == "reading  7"
    assert report.bar_line("reading", 7, 0, {"rows": 5, "rmse": None}) == "reading  7  rows 5"


def test_remarks_go_to_stderr(capsys):
    report.remark("GPU busy")
    report.remark("unseen", quiet=True)
    shown = capsys.readouterr()
    assert shown.err == "GPU busy\n" and shown.out == ""
