"""Tokens of lists of edges and of tables: vertices keep their spelling, numbers are correct or an error of one line."""

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.graphs.read import read_edges
from gpukit.graphs.table import read_table
from gpukit.io import words

NINES = "9" * 5000
KEPT = {
    "mixed numbers": ("1.5 2\n2 3\n", ["1.5", "2", "3"]),
    "beyond 2^63": (
        "9223372036854775808 1\n9223372036854775809 1\n",
        ["9223372036854775808", "1", "9223372036854775809"],
    ),
    "beyond 2^64": (f"{2**64} 1\n{2**64 + 1} 1\n", [str(2**64), "1", str(2**64 + 1)]),
    "one side beyond 2^63": ("1 9223372036854775808\n1 9223372036854775809\n", ["1", str(2**63), str(2**63 + 1)]),
    "the largest": (f"{2**63 - 1} {-(2**63)}\n{2**63 - 1} 7\n", [-(2**63), 7, 2**63 - 1]),
    "NA": ("NA null\nnull nan\n", ["NA", "null", "nan"]),
    "leading zeros": ("007 7\n7 8\n", ["007", "7", "8"]),
    "zeros in the second column": ("7,00\n7,0\n", ["7", "00", "0"]),
    "plus": ("+5 5\n5 6\n", ["+5", "5", "6"]),
    "minus zero": ("0 1\n-0 1\n", ["0", "1", "-0"]),
    "negative": ("-1 2\n2 3\n", [-1, 2, 3]),
    "zero": ("0 1\n1 10\n", [0, 1, 10]),
    "a sharp": ("C# D\nD E\n", ["C#", "D", "E"]),
    "a remark": ("a b # x\n  # y\nb c\n% z\n", ["a", "b", "c"]),
    "quoted blanks": ('"a b" c\nc d\n', ["a b", "c", "d"]),
    "a quoted separator": ('"a,b",c,1\nc,d,2\n', ["a,b", "c", "d"]),
    "a quoted newline": ('b,c,1\n"a\nb",c,1\n', ["b", "c", "a\nb"]),
    "Latin-1": (b"\xe9 b\nb \xe8\n", ["é", "b", "è"]),
    "truth": ("True False\nFalse true\n", ["True", "False", "true"]),
    "hexadecimal": ("0x10 2\n2 3\n", ["0x10", "2", "3"]),
    "powers": ("1e5 2\n2 3\n", ["1e5", "2", "3"]),
    "underscores": ("1_0 2\n2 3\n", ["1_0", "2", "3"]),
    "wide digits": ("１ 1\n1 2\n", ["１", "1", "2"]),
    "many digits": (f"{NINES} 1\n1 2\n", [NINES, "1", "2"]),
    "some lines end in CR": ("1 2\n2 3\r3 4\n", [1, 2, 3, 4]),
}


@pytest.mark.parametrize("case", KEPT)
def test_vertices_keep_their_spelling(tmp_path, case):
    raw, ids = KEPT[case]
    (tmp_path / "e").write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    graph, found = read_edges(tmp_path / "e")
    assert found.tolist() == ids and graph.shape[0] == len(ids)


REFUSED = {
    "a header of three over two": ("a,b\n1,2,3\n", "vertices"),
    "a header alone": ("source target\n", "no lines below"),
    "a header that is too long": ("a,b,c\n1,2\n", "names 3 columns in its header and has 2 below"),
    "an end is empty": ("a,b\na,\n", "line 2: edge 2 is incomplete"),
    "a quote that stays open": ('"a,b\nc,d\n', "opens a quote"),
    "CR alone": ("1 2\r2 3\r", "carriage return"),
    "a weight of nothing": ("# h\n\na b 1\nb c nan\n", "line 4: edge 2 is incomplete"),
    "a weight of text": ("u v w\n\na b 1\n#c\nb c x\n", r"line 5: 'x' \(column 3\) is not a number"),
    "a weight without end": ("a b 1e999\nb c 1\n", "is inf"),
    "a weight with an underscore": ("a b 1_0\nb c x\n", "'x'|'1_0'"),
    "long text in a square": (f"0,1,0,{'x' * 3000}\n" * 4, "^.{1,400}$"),
    "a vertex twice in a square": ("a,b,a,d\n0,1,0,1\n1,0,1,1\n0,1,0,0\n1,1,0,0\n", "names vertex 'a' twice"),
    "a byte of 0 far in": ("a b\n" * 40_000 + "a \0\n", "byte of 0 at byte 160,003"),
    "ragged": ("u v\n0 1\n1 2 3\n", r"line 3 has 3 field\(s\) where 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path, case):
    raw, message = REFUSED[case]
    (tmp_path / "e").write_text(raw, newline="")
    with pytest.raises(DataError, match=message) as caught:
        read_edges(tmp_path / "e")
    assert "\n" not in str(caught.value)


def table(folder, text, count=3):
    (folder / "t.csv").write_text(text, newline="")
    return read_table(folder / "t.csv", count)


@pytest.mark.parametrize(
    "text, ids",
    [
        ("007,1\n8,2\n9,3\n", None),  # all numbers: values, unless the graph contradicts
        ("NA,1\nb,2\nc,NA\n", ["NA", "b", "c"]),
        ("v,t1\n007,1\n8,2\n9,3\n", None),
        (",t1\n007,1\n8,2\n9,3\n", ["007", "8", "9"]),
        ("t1\n007,1\n8,2\n9,3\n", ["007", "8", "9"]),  # as written by R
        (f",t1\n{2**63},1\n8,2\n9,3\n", [str(2**63), "8", "9"]),
        (f",t1\n{NINES},1\n8,2\n9,3\n", [NINES, "8", "9"]),
        (",t1\n1,1\n8,2\n9,3\n", [1, 8, 9]),
    ],
)
def test_labels_of_a_table(tmp_path, text, ids):
    found = table(tmp_path, text)
    assert (None if found.ids is None else found.ids.tolist()) == ids


def test_values_of_a_table(tmp_path):
    found = table(tmp_path, "a,+5,, 7 ,0\nb,.5,NULL,1e3,0\nc,-2.,nan,N/A,0\n").values
    assert np.array_equal(found, [[5, np.nan, 7, 0], [0.5, np.nan, 1000, 0], [-2, np.nan, np.nan, 0]], equal_nan=True)
    for word in ("0x1", "1_0", "1,5", "x" * 500, "1e", "--1"):
        with pytest.raises(DataError) as caught:
            table(tmp_path, f"a,1\nb,2\nc,{word}\n")
        assert "line 3" in str(caught.value) and len(str(caught.value)) < 400


def test_one_line_is_no_table(tmp_path):
    for text in ("1\n", "v\n", "v,1\n"):
        with pytest.raises(DataError):
            table(tmp_path, text)


def test_texts_of_one_long_width_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(words, "WIDEST", 10_000)
    (tmp_path / "e").write_text("a b\nb c\n" + "c " + "x" * 900 + "\n")
    with pytest.raises(DataError, match="900 letters, and 4 texts of that width"):
        read_edges(tmp_path / "e")


def test_marks_within_names_are_no_comments_and_cost_no_square(tmp_path):
    name = "#".join("x" * 200_000)
    (tmp_path / "e").write_text(f"a%b {name}\r\n\t% one\r\n \t# two\r\na%b c #%three\r\nc% d\r\n#four")
    graph, ids = read_edges(tmp_path / "e")
    assert ids.tolist() == ["a%b", name, "c", "c%", "d"] and graph.nnz == 6
