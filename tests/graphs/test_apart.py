"""Tables with times in several columns and columns that are not sensors: reading and writing."""

import re

import numpy as np
import pandas
import pytest

from gpukit.errors import DataError
from gpukit.graphs.completed import write_completed
from gpukit.graphs.read import read_graph

HOURS = np.datetime64("2004-02-28T22:00:00") + np.arange(6) * np.timedelta64(1, "h")
CLOCKS = {
    "Date;Time": "{0:%d/%m/%Y};{0:%H.%M.%S}",
    "date;clock": "{0:%Y-%m-%d};{0:%H:%M}",
    "day;hour": "{0:%d.%m.%Y};{0.hour}",
    "DATE;Time": "{0:%m/%d/%Y};{0:%I:%M %p}",
    "YYYYMMDD;HHMM": "{0:%Y%m%d};{0:%H%M}",
    "No;year;month;day;hour": "7;{0.year};{0.month};{0.day};{0.hour}",
    "hr;dd;mm;yyyy": "{0.hour};{0.day};{0.month};{0.year}",
}


def lines(form, header):
    """A line per time: time columns, three value columns, some missing; a text column and an empty one at the end."""
    rows = [f"{form.format(one)};{at}.5;?;{'NA' if at == 2 else at}" for at, one in enumerate(HOURS.tolist())]
    rows[4] = rows[4].replace("?", "1e1")
    count = [f"{at + 1}{row[1:]}" if header.startswith("No") else row for at, row in enumerate(rows)]
    words = ["NW", "cv", "NA", "", "SE", "NW"]
    return "\n".join([f"{header};a;b;c;wind;;", *(f"{row};{word};;" for row, word in zip(count, words))]) + "\n"


def filled(path, out, **how):
    """Return the text that is written for a table; missing values become 7.25."""
    data = read_graph(path, **how)
    seen = (data.mask if data.mask.ndim == 3 else data.mask[:, None, None] & np.ones(data.tensor.shape, bool))[:, 0]
    write_completed(out, path, np.where(seen, 0, 7.25), seen, data.vertices, alone=True, **how)
    return out.read_text()


@pytest.mark.filterwarnings("ignore:.*not read as")
@pytest.mark.parametrize("header, form", CLOCKS.items())
@pytest.mark.parametrize("blank", [0, 2])
def test_times_in_several_columns(tmp_path, header, form, blank):
    text = lines(form, header) + blank * (";" * (header.count(";") + 6) + "\n")
    (tmp_path / "t.csv").write_text(text)
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == ["a", "b", "c"]
    assert data.times.tolist() == HOURS.astype("M8[s]").astype(int).tolist()
    expected = text.replace("?", "7.25").replace("NA;NA", "7.25;NA")
    assert filled(tmp_path / "t.csv", tmp_path / "o.csv") == expected


def test_columns_of_text_are_reported(tmp_path):
    (tmp_path / "t.csv").write_text(lines(CLOCKS["Date;Time"], "Date;Time"))
    with pytest.warns(UserWarning, match=r"t\.csv: not read as sensors, and kept as they are: wind\."):
        read_graph(tmp_path / "t.csv")


@pytest.mark.slow
def test_a_column_that_is_not_a_time_is_reported(tmp_path):
    text = "date,time,a\n" + "".join(f"2020-01-{1 + at // 24:02},{at % 24:02}:00,{at}\n" for at in range(700))
    (tmp_path / "t.csv").write_text(text + "2020-01-01,25:00,1\n")
    with pytest.raises(DataError, match="line 702: '2020-01-01 25:00' is no time like the others"):
        read_graph(tmp_path / "t.csv")


def test_one_station_is_a_wide_table(tmp_path):
    rows = [f"USGS\t0164\t2020-01-{day:02}\t{day}.5\tA\t{'' if day == 3 else day}\n" for day in range(1, 9)]
    head = "agency\tsite_no\tdatetime\tflow\tcode\tlevel\n"
    (tmp_path / "t.tsv").write_text(head + "".join(rows))
    with pytest.warns(UserWarning, match="kept as they are: agency, site_no, code"):
        data = read_graph(tmp_path / "t.tsv")
    assert data.vertices.tolist() == ["flow", "level"] and len(data.times) == 8
    (tmp_path / "t.tsv").write_text(head + "".join([*rows, rows[0].replace("0164", "0165")]))
    with pytest.raises(
        DataError, match="flow, level could be the values.*--columns -,-,time,value,-,value or --layout"
    ):
        read_graph(tmp_path / "t.tsv")
    assert len(read_graph(tmp_path / "t.tsv", columns="-,-,time,value,-,value").tensor) == 2


def test_lines_that_a_column_tells_apart_are_readings(tmp_path):
    rows = [f"2020-01-{day:02} 10:00:0{day} {mote} {mote}.5 {day}\n" for mote in (1, 2, 3) for day in range(1, 9)]
    (tmp_path / "t.txt").write_text("".join(rows))
    with pytest.raises(DataError, match="24 lines have 8 times.*--columns time,time,sensor,value,- if"):
        read_graph(tmp_path / "t.txt")
    data = read_graph(tmp_path / "t.txt", columns="time,time,sensor,value,-")
    assert data.vertices.tolist() == [1, 2, 3] and data.times[0] == 1577872801
    np.testing.assert_array_equal(data.tensor[:, 0], [[1.5] * 8, [2.5] * 8, [3.5] * 8])
    with pytest.raises(DataError, match="line 1: '2020-01-01 1.5' is no time like the others"):
        read_graph(tmp_path / "t.txt", columns="time,-,sensor,time,value")


def test_lines_of_few_names_beside_dates_are_readings(tmp_path):
    """Like daily summaries without a header, which would otherwise be series of dates and of flags."""
    rows = [
        f"{s},202001{day:02},TMAX,{day},,S,{700 if day == 2 else ''}\n" for s in ("US1", "CA2") for day in (1, 2, 3)
    ]
    (tmp_path / "t.csv").write_text("".join(rows))
    with pytest.raises(
        DataError, match="lines are labelled 'US1', 'US1', ...: no times.*--columns sensor,time,-,value,-,-,... if"
    ):
        read_graph(tmp_path / "t.csv")
    data = read_graph(tmp_path / "t.csv", columns="sensor,time,-,value,-,-,-")
    assert data.tensor[:, 0].tolist() == [[1, 2, 3]] * 2 and np.diff(data.times).tolist() == [86400] * 2
    with pytest.warns(UserWarning, match="kept as they are: column 3, column 5, column 6"):
        assert len(read_graph(tmp_path / "t.csv", layout="columns").tensor) == 3


@pytest.mark.parametrize("word", ["7.5 km/h", "7.5*", "7 %"])
def test_a_table_of_numbers_with_units_names_the_first(tmp_path, word):
    rows = [f"2020-01-0{day},{word if day > 1 else ''},{word}" for day in range(1, 7)]
    (tmp_path / "t.csv").write_text("\n".join(["time,a,b", *rows]) + "\n")
    with pytest.raises(DataError, match=rf"t\.csv, line 3: '{re.escape(word)}' \(column 2\) is not a number"):
        read_graph(tmp_path / "t.csv")


def test_columns_without_a_number_stay_empty(tmp_path):
    text = "time,a,b,c\n2020-01-01,1,,?\n2020-01-02,,,5\n2020-01-03,3,,6\n"
    (tmp_path / "t.csv").write_text(text)
    with pytest.warns(UserWarning, match="kept as they are: b"):
        out = filled(tmp_path / "t.csv", tmp_path / "o.csv")
    assert out == text.replace("?", "7.25").replace("-02,,", "-02,7.25,")


@pytest.mark.parametrize(
    "head, names, error",
    [
        (",a,b", "xyz", "labelled 'x', 'y', ...: no times.*,a,b.*--layout columns if .*--layout rows if"),
        ("name,a,b,c", "xyz", "labelled 'x', 'y'"),
        ("station,a,b", [401, 407, 403], "labelled '401', '407'"),
        ("station,a,b", "xxyyzz", "labelled 'x', 'x'"),
        ("time,a,b", [1, 2, 3] * 2, "6 lines have 3 times.*--layout columns"),
        ("date,a", ["2020-01-01", "2020-01-02"] * 3, "6 lines have 2 times"),
    ],
)
def test_labels_that_are_no_times_are_refused(tmp_path, head, names, error):
    lines = [",".join([str(name), *["1.5", "2.5", "x"][: head.count(",")]]) for name in names]
    (tmp_path / "t.csv").write_text("\n".join([head, *lines]) + "\n")
    with pytest.raises(DataError, match=error):
        read_graph(tmp_path / "t.csv")
    assert len(read_graph(tmp_path / "t.csv", layout="columns").tensor) == min(head.count(","), 2)


def test_stations_beside_steps_need_a_layout(tmp_path):
    """Steps in the header are not known to be times."""
    (tmp_path / "t.csv").write_text("station,0,1,2\n401,1,2,3\n403,4,,6\n402,7,8,9\n")
    with pytest.raises(DataError, match="'401', '403', ...: no times. Its header is 'station,0,1,2'.*--layout rows if"):
        read_graph(tmp_path / "t.csv")
    data = read_graph(tmp_path / "t.csv", layout="rows")
    assert data.vertices.tolist() == [401, 403, 402] and data.tensor[2, 0].tolist() == [7, 8, 9]


@pytest.mark.parametrize("rows", [(0, 1, 2), (7, 9, 30), (2, 1, 0)])
def test_row_numbers_of_pandas_are_no_readings(tmp_path, rows):
    frame = pandas.DataFrame({"a": [1.5, 2, 3], "b": [4.0, None, 6]}, index=rows)
    frame.to_csv(tmp_path / "t.csv")
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == ["a", "b"] and data.tensor[0, 0].tolist() == [1.5, 2, 3]
    assert filled(tmp_path / "t.csv", tmp_path / "out.csv") == (tmp_path / "t.csv").read_text().replace(
        ",\n", ",7.25\n"
    )


def test_row_numbers_in_no_order_are_unclear(tmp_path):
    pandas.DataFrame({"a": [1.5, 2, 3], "b": [4.0, 5, 6]}, index=[2, 0, 1]).to_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match="its lines are labelled '2', '0', ...: no times"):
        read_graph(tmp_path / "t.csv")


NAMED = {  # a table whose last column the graph names, and the table with every gap as 7.25
    "empty": (
        "time,a,b,c\n2020-01-01,1,2,\n2020-01-02,?,4,\n",
        "time,a,b,c\n2020-01-01,1,2,7.25\n2020-01-02,7.25,4,7.25\n",
    ),
    "signs": (
        "time,a,b,c\n2020-01-01,1,2,NA\n2020-01-02,3,4,?\n",
        "time,a,b,c\n2020-01-01,1,2,7.25\n2020-01-02,3,4,7.25\n",
    ),
    "counts": ("date;hour;a;b;no\n2020-01-01;1;?;2;1\n2020-01-01;2;3;4;2\n",) * 2,
    "station": ("date;hour;a;b;site\n2020-01-01;1;?;2;5\n2020-01-01;2;3;4;5\n",) * 2,
    "first": ("t,a,b\n,1,2\n,3,?\n", "t,a,b\n7.25,1,2\n7.25,3,7.25\n"),
    "calendar": (
        "time,year,month\n2020-01-01,2020,1\n2020-01-02,2020,\n",
        "time,year,month\n2020-01-01,2020,1\n2020-01-02,2020,7.25\n",
    ),
    "numbers": (
        "time,401,402,403\n2020-01-01,1,2,\n2020-01-02,3,4,\n",
        "time,401,402,403\n2020-01-01,1,2,7.25\n2020-01-02,3,4,7.25\n",
    ),
    "years": ("x,1990,1991,1992\n1,1,2,\n2,3,4,\n", "x,1990,1991,1992\n1,1,2,7.25\n2,3,4,7.25\n"),
}


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("way", ["coordinates", "distances"])
def test_columns_that_the_graph_names_are_sensors(tmp_path, kind, way):
    given, wanted = NAMED[kind]
    header = given.splitlines()[0].replace(";", ",").split(",")
    names = [name for name in header if name not in ("time", "date", "hour")]
    (tmp_path / "t.csv").write_text(given)
    lines = [f"{name},{at},{at % 2}" for at, name in enumerate(names)]
    pairs = [f"{one},{other},1" for one, other in zip(names, names[1:])]
    (tmp_path / "g.csv").write_text("\n".join(["label,x,y", *lines] if way == "coordinates" else pairs) + "\n")
    data = read_graph(tmp_path / "t.csv", **{way: tmp_path / "g.csv"})
    assert data.vertices.astype(str).tolist() == names
    seen = np.broadcast_to(data.mask if data.mask.ndim == 3 else data.mask[:, None, None], data.tensor.shape)[:, 0]
    out = tmp_path / "o.csv"
    write_completed(out, tmp_path / "t.csv", np.where(seen, 0, 7.25), seen, data.vertices, alone=True)
    assert out.read_text() == wanted.replace("?", "7.25")


def test_words_in_a_column_that_the_graph_names_are_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("time,a,b,c\n2020-01-01,1,2,off\n2020-01-02,3,,off\n")
    (tmp_path / "g.csv").write_text("label,x,y\na,1,1\nb,2,1\nc,3,1\n")
    with pytest.raises(DataError, match="line 2: 'off' .column 4. is not a number"):
        read_graph(tmp_path / "t.csv", coordinates=tmp_path / "g.csv")


@pytest.mark.parametrize("way", ["coordinates", "distances"])
def test_labels_without_a_column_are_named(tmp_path, way):
    (tmp_path / "t.csv").write_text("time,a,b\n2020-01-01,1,2\n2020-01-02,3,\n")
    lines = {"coordinates": "label,x,y\na,1,1\nb,2,1\nc,3,1\nd,1,2\n", "distances": "a,b,1\nb,c,2\nc,d,1\n"}
    (tmp_path / "g.csv").write_text(lines[way])
    with pytest.warns(
        UserWarning, match="g.csv names 'c', 'd', which .*t.csv does not have: left out. An empty column"
    ):
        read_graph(tmp_path / "t.csv", **{way: tmp_path / "g.csv"})


def test_long_tables_with_times_in_several_columns(tmp_path):
    rows = [f"{s},{2020},1,{day},{day}.5" for s in "xy" for day in range(1, 6) if (s, day) != ("y", 3)]
    (tmp_path / "t.csv").write_text("\n".join(["station,year,month,day,value", *rows]) + "\n")
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == ["x", "y"] and np.diff(data.times).tolist() == [86400] * 4
    rows.insert(7, "y,2020,1,3,7.25")
    assert filled(tmp_path / "t.csv", tmp_path / "o.csv").splitlines()[1:] == rows


def test_a_line_a_place_and_a_column_a_day(tmp_path):
    text = (
        "Province,Country,Lat,1/22/20,1/23/20,1/24/20,\n,France,1,2,,4,\nHubei,China,3,5,6,7,\nHenan,China,1,8,9,?,\n"
    )
    (tmp_path / "t.csv").write_text(text)
    data = read_graph(tmp_path / "t.csv")
    assert data.vertices.tolist() == ["France", "Hubei, China", "Henan, China"]
    assert data.tensor[:, 0].tolist() == [[2, 0, 4], [5, 6, 7], [8, 9, 0]]
    assert np.diff(data.times).tolist() == [86400] * 2
    assert filled(tmp_path / "t.csv", tmp_path / "o.csv") == text.replace("2,,4", "2,7.25,4").replace("?", "7.25")
    (tmp_path / "y.csv").write_text("Country,Code,1990,1991,1992\nA b,AB,1,2,\nC,CC,3,4,5\n")
    assert read_graph(tmp_path / "y.csv").vertices.tolist() == ["A b", "C"]


def test_a_first_line_that_is_like_the_second_is_no_header(tmp_path):
    (tmp_path / "t.txt").write_text("".join(f"2020-01-0{day} 10:00:00 {day}.5 x\n" for day in range(1, 6)))
    with pytest.raises(DataError, match="column 2 has words, such as '10:00:00'.*--columns time,time,value,- or"):
        read_graph(tmp_path / "t.txt")
    data = read_graph(tmp_path / "t.txt", columns="time,time,value,-")
    assert data.tensor.tolist() == [[[1.5, 2.5, 3.5, 4.5, 5.5]]] and np.diff(data.times).tolist() == [86400] * 4


@pytest.mark.filterwarnings("ignore:.*not read as")
@pytest.mark.parametrize(
    "text, missing",
    [
        ("Date;Time;a;b\n01/03/2020;10:00;-3.5e38;2\n01/03/2020;11:00;-3.5e38;\n", 1),  # beyond float32
        ("\ufeff\ufeff2020-01-03 10:00;1.5;2\n2020-01-03 11:00;;3\n2020-02-03 11:00;1.5;3\n", 1),
        ("step,Code,1990,,1992,1993\na,aaa,1e39,,-2.5,\nb,bbb,1e39,,,0.5\n", 2),
        ("time;a;b;c\t7\n2020-01-01;2,5;;\n2020-01-02;1,5;1,5;\n", 1),
    ],
)
def test_what_mutated_files_showed(tmp_path, text, missing):
    """The written table has the same columns of readings and no missing values."""
    (tmp_path / "t.csv").write_text(text)
    before = read_graph(tmp_path / "t.csv")
    assert filled(tmp_path / "t.csv", tmp_path / "o.csv").replace(",", ".").count("7.25") == missing
    after = read_graph(tmp_path / "o.csv")
    assert after.mask.all() and after.tensor.shape == before.tensor.shape


@pytest.mark.parametrize("number", ["9" * 5000, "18446744073709551616", "1e39"])
@pytest.mark.filterwarnings("ignore:.*not read as")
def test_numbers_of_lines_years_and_hours_that_are_too_long(tmp_path, number):
    for header in ("No,year,month,day,hour,a", "date,hour,a"):
        rows = [f"{at},2020,1,{at},5,{at}.5" if "No" in header else f"2020-01-0{at},5,{at}.5" for at in (1, 2, 3)]
        fields = rows[1].split(",")
        for place in range(len(fields) - 1):
            changed = ",".join([*fields[:place], number, *fields[place + 1 :]])
            (tmp_path / "t.csv").write_text("\n".join([header, rows[0], changed, rows[2]]) + "\n")
            try:
                values = read_graph(tmp_path / "t.csv").tensor
            except DataError as error:
                assert "\n" not in str(error)
            else:
                assert {1.5, 2.5, 3.5} <= set(values.ravel().tolist())


def test_a_first_line_with_marks_that_no_other_has(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,3\na;4\nb;5\n")
    with pytest.raises(DataError, match=r"line 2 has 1 field\(s\) where 3 are expected: 'a;4'"):
        read_graph(tmp_path / "t.csv")


def test_ids_that_end_in_a_byte_of_0(tmp_path):
    frame = pandas.DataFrame({"time": [1, 1, 2, 2], "sensor": ["a\0", "b"] * 2, "value": [2.0, 3.0, None, 1.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="ends in a byte of 0"):
        read_graph(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["", "x", "id", "name", "time"])
def test_years_above_labels_need_a_name_of_sensors(tmp_path, name):
    """Numeric labels may be times too, and a name of times above text labels contradicts them."""
    labels = "abc" if name == "time" else (7, 9, 8)
    lines = [f"{label},{at}.5,2,3" for at, label in enumerate(labels)]
    (tmp_path / "t.csv").write_text("\n".join([f"{name},1990,1991,1992", *lines]) + "\n")
    with pytest.raises(DataError, match="--layout columns if a column is a sensor, --layout rows if a line is one"):
        read_graph(tmp_path / "t.csv")
    for how in ({"layout": "rows"}, {"columns": "sensor,value,..."}):
        data = read_graph(tmp_path / "t.csv", **how)
        assert data.tensor[:, 0, 0].tolist() == [0.5, 1.5, 2.5] and data.times.tolist() == [1990, 1991, 1992]
    (tmp_path / "t.csv").write_text("\n".join(["Country,1990,1991,1992", *lines]) + "\n")
    assert read_graph(tmp_path / "t.csv").tensor.shape == (3, 1, 3)
