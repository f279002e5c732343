"""Tables as frames: blocks of any size, types of columns, lines of rows."""

import warnings

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.io import sheet

ROWS = [f'2020-01-0{day},"s,{day}",{day}.5,{day},' + ("" if day % 2 else "NA") for day in range(1, 9)]
ROWS[6] = "# a comment\n\n2020-01-07,s7,x,007,+5"
TEXT = "\n".join(["time,name,mixed,whole,gaps", *ROWS]) + "\n"


def frame(text, header=True, **options):
    return sheet.Table(text.encode(), "t.csv").frame(header, **options)


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\r")])
@pytest.mark.parametrize("size", [1, 40, 100])
def test_blocks_of_any_size(monkeypatch, text, size):
    expected = frame(text)
    monkeypatch.setattr(sheet, "BLOCK", size)
    monkeypatch.setattr(sheet, "HEAD", size)
    assert frame(text).astype(str).equals(expected.astype(str))
    assert expected[2].tolist()[5:] == ["6.5", "x", "8.5"] and expected[1].tolist()[0] == "s,1"
    assert expected[3].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_columns_that_are_spelled():
    assert frame(TEXT, spelled=[3])[3].tolist()[-2:] == ["007", "8"]
    assert frame(TEXT, ids=(3,))[3].tolist()[-2:] == ["007", "8"]
    assert frame(TEXT.replace("007", "7"), ids=(3,))[3].dtype == np.int64
    assert list(frame(TEXT, spelled=[1], others=False)) == [1]


def test_words_that_are_missing_are_ids_all_the_same():
    assert frame("a,b\n1,NA\n2,3\n", ids=(1,))[1].tolist() == ["NA", "3"]
    assert np.isnan(frame("a,b\n1,NA\n2,3\n")[1].tolist()[0])


def test_a_blank_and_a_sharp_are_in_fields_of_tables_with_separators():
    table = sheet.Table(b"# made by hand, twice\ntime,pump #1,pump #2\n1,a #1,2 # 3\n", "t.csv")
    assert table.first == ["time", "pump #1", "pump #2"]
    assert table.frame(True, spelled=3).iloc[0].tolist() == ["1", "a #1", "2 # 3"]
    assert sheet.Table(b"1 a #1\n2 b # 3\n", "t.txt").frame(False, spelled=2)[1].tolist() == ["a", "b"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_comments_that_may_be_rows_are_reported(end):
    text = [b"# id, a", b"id,a", b"#1,2", b"3,4", b'5,"', b'#6,"', b"% x, y", b"# no row", b"7,8"]
    with pytest.warns(UserWarning, match=r"t\.csv: 2 line\(s\) that begin with # .* such as '#1,2'. If they are rows"):
        table = sheet.Table(end.join(text), "t.csv")
    assert table.frame(True, spelled=2)[0].tolist() == ["3", "5", "7"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sheet.Table(end.join([*text[:2], *text[3:6], *text[7:]]), "t.csv")


def test_lines_of_rows():
    table = sheet.Table(b'a,b\n"1\n1",2\n# c\n\n3,4\n5,6,7\n', "t.csv")
    with pytest.raises(DataError, match=r"t\.csv, line 7 has 3 field\(s\) where 2 are expected: '5,6,7'"):
        table.frame(True)
    table = sheet.Table(b'a,b\n"1\n1",2\n# c\n\n3,x\n', "t.csv")
    with pytest.raises(DataError, match="t.csv, line 6: 'x'"):
        table.numbers(table.frame(True)[[1]])


def test_rows_with_fewer_fields_are_missing_at_their_end():
    assert np.array_equal(frame("1,2\n3\n5,6\n", False).to_numpy(float), [[1, 2], [3, np.nan], [5, 6]], equal_nan=True)


def test_control_letters_are_no_blanks():
    table = sheet.Table(b"a,b\n1,0.5\x1c\n2,3\n", "t.csv")
    with pytest.raises(DataError, match=r"line 2: '0.5\\x1c' \(column 2\) is not a number"):
        table.numbers(table.frame(True))


@pytest.mark.parametrize("size", [1, 8, 100])
def test_errors_of_later_blocks_have_their_line(monkeypatch, size):
    monkeypatch.setattr(sheet, "BLOCK", size)
    lines = ["a,b", *(f"{row},{row}" for row in range(9)), '"9"x,9']
    with pytest.raises(DataError, match="t.csv, line 11 opens a quote"):
        frame("\n".join(lines) + "\n")


def test_a_column_of_words_as_numbers():
    table = sheet.Table(b"a,b\n1,true\n2,\n3,False\n4,TRUE\n5,NA\n", "t.csv")
    assert np.array_equal(table.column(table.frame(True)[1]), [1, np.nan, 0, 1, np.nan], equal_nan=True)
    table = sheet.Table(b"a,b\n1,2.5\n2,x\n3,NA\n4,x\n5,y\n", "t.csv")
    with pytest.raises(DataError, match=r"t.csv, line 3: 'x' .column 2. is not a number"):
        table.column(table.frame(True)[1])
